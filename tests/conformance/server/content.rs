//! Tools that answer with each kind of content.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::json;

use crate::fixtures::{PNG, WAV, tool};

pub fn definitions() -> Vec<Tool> {
    let none = json!({});
    vec![
        tool("test_simple_text", "Answers with a sentence.", &none),
        tool("test_image_content", "Answers with a picture.", &none),
        tool("test_audio_content", "Answers with a sound.", &none),
        tool("test_embedded_resource", "Answers with a resource.", &none),
        tool("test_multiple_content_types", "Answers with a sentence, a picture and a resource.", &none),
        tool("test_error_handling", "Fails, and says so in its result.", &none),
        tool("test_reconnection", "Answers at once, on whatever stream there is.", &none),
    ]
}

pub fn answer(name: &str) -> Option<CallToolResult> {
    let content = match name {
        "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
        "test_image_content" => vec![ContentBlock::image(PNG, "image/png")],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            let reason = ContentBlock::text("This tool intentionally returns an error for testing");
            return Some(CallToolResult::error(vec![reason]));
        }
        "test_reconnection" => vec![ContentBlock::text("Connected.")],
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}
