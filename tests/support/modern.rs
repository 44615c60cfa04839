//! The `_meta` every modern request carries.

pub const VERSION: &str = "2026-07-28";

/// The members of a complete modern `_meta`, without braces so that more can follow.
pub fn meta_members(version: &str, capabilities: &str) -> String {
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientInfo":{{"name":"test-client","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}"#
    )
}

/// The usual `_meta`: current version, no capabilities.
pub fn modern_meta() -> String {
    format!("{{{}}}", meta_members(VERSION, "{}"))
}

/// Puts `_meta` in front of the members of raw params, which stay as they are.
pub fn with_meta(params: &str, meta: &str) -> String {
    let inside = params.trim().strip_prefix('{').unwrap_or_else(|| panic!("params are an object: {params}"));
    let comma = if inside.trim() == "}" { "" } else { "," };
    format!(r#"{{"_meta":{meta}{comma}{inside}"#)
}

/// A `progressToken` beside the usual members.
pub fn meta_with_progress(token: &str) -> String {
    format!(r#"{{"progressToken":{token},{}}}"#, meta_members(VERSION, "{}"))
}

/// A text as a header value: as it is where that is safe, else base64 between sentinels.
pub fn header_text(text: &str) -> String {
    use base64::Engine;
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && text.trim() == text;
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !looks_encoded {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text))
}
