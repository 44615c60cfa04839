//! The HTTP headers of the protocol, and the encoding that lets their values hold any text.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;

pub static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub static METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub static NAME: HeaderName = HeaderName::from_static("mcp-name");
pub static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub const PARAM_PREFIX: &str = "mcp-param-";

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Encodes text as a header value: unchanged if that is safe and unambiguous, otherwise as base64.
pub fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !is_base64(text);
    if plain { text.to_owned() } else { format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)) }
}

/// Decodes a header value; `None` if it is marked as base64 and is not, or is not UTF-8.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !is_base64(text) {
        return Some(text.into());
    }
    let inner = &text[PREFIX.len()..text.len() - SUFFIX.len()];
    String::from_utf8(STANDARD.decode(inner).ok()?).ok().map(Cow::from)
}

fn is_base64(text: &str) -> bool {
    text.len() >= PREFIX.len() + SUFFIX.len() && text.starts_with(PREFIX) && text.ends_with(SUFFIX)
}

/// The member of the params that a request of this method repeats in the `Mcp-Name` header.
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_survives_a_header() {
        for text in ["plain", "", "日本語", " lead", "trail ", "tab\there", "=?base64?x?=", "a\r\nb"] {
            let encoded = encode(text);
            assert!(encoded.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{encoded}");
            assert_eq!(decode(encoded.as_bytes()).as_deref(), Some(text));
        }
    }

    #[test]
    fn only_the_exact_marks_of_base64_are_decoded() {
        assert_eq!(decode(b"=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode(b"=?base64?SGVsbG8?="), None);
        assert_eq!(decode(b"=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(decode(b"=?BASE64?SGVsbG8=?=").as_deref(), Some("=?BASE64?SGVsbG8=?="));
        assert_eq!(decode(b"=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
        assert_eq!(decode(b"  x  ").as_deref(), Some("x"));
    }
}
