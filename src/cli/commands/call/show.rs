//! Results for people: text as is, everything else as a short description.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::cli::output;

/// The content of a tool result, or its structured content if it has no other content.
pub(super) fn tool_result(result: &Value) {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for block in blocks {
        show_block(block);
    }
    if blocks.is_empty() && !result["structuredContent"].is_null() {
        output::json(&result["structuredContent"]);
    }
}

/// The messages of a prompt, each after the name of its role.
pub(super) fn messages(result: &Value) {
    for message in result["messages"].as_array().into_iter().flatten() {
        output::data(&format!("{}:", message["role"].as_str().unwrap_or_default()));
        show_block(&message["content"]);
    }
}

/// The contents of a resource. If standard output is not a terminal, bytes are written unchanged.
pub(super) fn contents(result: &Value) {
    for content in result["contents"].as_array().into_iter().flatten() {
        match (content["text"].as_str(), content["blob"].as_str()) {
            (Some(text), _) => output::text(text),
            (None, Some(blob)) => match STANDARD.decode(blob) {
                Ok(bytes) if !output::is_terminal() => output::bytes(&bytes),
                Ok(bytes) => {
                    let kind = content["mimeType"].as_str().unwrap_or("bytes");
                    output::data(&format!(
                        "[{kind}, {} bytes: redirect the output to a file to save them]",
                        bytes.len()
                    ));
                }
                Err(_) => output::data("[a blob that is not valid base64]"),
            },
            (None, None) => output::data(&content.to_string()),
        }
    }
}

fn show_block(block: &Value) {
    let member = |name: &str| block[name].as_str().unwrap_or_default();
    match member("type") {
        "text" => output::text(member("text")),
        "resource_link" => output::data(&format!("[resource {} {}]", member("name"), member("uri"))),
        "resource" => {
            let resource = &block["resource"];
            let (uri, kind) = (resource["uri"].as_str().unwrap_or_default(), resource["mimeType"].as_str());
            output::data(&format!("[resource {uri}{}]", kind.map(|kind| format!(" {kind}")).unwrap_or_default()));
            if let Some(text) = resource["text"].as_str() {
                output::text(text);
            }
        }
        "" => output::data(&block.to_string()),
        kind => output::data(&format!("[{kind} {}]", member("mimeType"))),
    }
}
