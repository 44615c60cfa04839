//! The rules a modern request must keep, checked strictly and in the specification's order, so that a client's
//! mistake shows as an error instead of passing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::discovery::supported;
use crate::message::{CAPABILITIES_KEY, Refusal, quoted};
use crate::parameter_headers;
use crate::request::Request;
use crate::shared::Shared;

pub fn validate(shared: &Shared, request: &Request) -> Result<(), Refusal> {
    let version = request
        .named_version()
        .ok_or_else(|| Refusal::new(400, -32602, "_meta must name the protocol version as a string"))?;
    let capabilities = request.meta(CAPABILITIES_KEY);
    if !capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
        return Err(Refusal::new(400, -32602, "_meta must hold the client's capabilities as an object"));
    }
    if request.http {
        single_header(request, "mcp-protocol-version", &version)?;
    }
    let supported = supported(&shared.options);
    if !supported.contains(&version) || version.as_str() < "2026" {
        let data = format!(r#"{{"supported":{},"requested":{}}}"#, serde_json::json!(supported), quoted(&version));
        return Err(Refusal::new(400, -32022, "unsupported protocol version").with_data(data));
    }
    if request.http {
        standard_headers(request)?;
        parameter_headers::validate(shared, request)?;
    }
    Ok(())
}

fn standard_headers(request: &Request) -> Result<(), Refusal> {
    single_header(request, "mcp-method", &request.method)?;
    let named_by = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let name = request.text_parameter(named_by).unwrap_or_default();
    if request.header_count("mcp-name") != 1 {
        return Err(mismatch(format!("Mcp-Name must be there once, not {} times", request.header_count("mcp-name"))));
    }
    let given = decode(request.header("mcp-name").unwrap_or_default())?;
    if given == name { Ok(()) } else { Err(mismatch(format!("Mcp-Name is `{given}`, the body says `{name}`"))) }
}

fn single_header(request: &Request, header: &str, expected: &str) -> Result<(), Refusal> {
    let count = request.header_count(header);
    if count != 1 {
        return Err(mismatch(format!("{header} must be there once, not {count} times")));
    }
    let given = request.header(header).unwrap_or_default();
    if given == expected { Ok(()) } else { Err(mismatch(format!("{header} is `{given}`, the body says `{expected}`"))) }
}

/// A header value as the text it stands for: base64 between sentinels, or itself.
pub fn decode(value: &str) -> Result<String, Refusal> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| mismatch(format!("`{value}` is not base64")))?;
    String::from_utf8(bytes).map_err(|_| mismatch(format!("`{value}` is not UTF-8")))
}

pub fn mismatch(message: String) -> Refusal {
    Refusal::new(400, -32020, message)
}
