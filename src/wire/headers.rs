//! Header names of the protocol, and values that may hold any text.

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

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Text as a header value: as it is where that is safe and unambiguous, otherwise wrapped in base64.
pub fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !is_wrapped(text);
    if plain { text.to_owned() } else { format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)) }
}

/// The text of a header value; `None` if it claims to be base64 and is not, or is not text.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !is_wrapped(text) {
        return Some(text.into());
    }
    let inner = &text[OPEN.len()..text.len() - CLOSE.len()];
    String::from_utf8(STANDARD.decode(inner).ok()?).ok().map(Cow::from)
}

fn is_wrapped(text: &str) -> bool {
    text.len() >= OPEN.len() + CLOSE.len() && text.starts_with(OPEN) && text.ends_with(CLOSE)
}

/// The method a request is about, by the member of its params that names it.
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
    fn only_the_exact_wrapping_is_decoded() {
        assert_eq!(decode(b"=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode(b"=?base64?SGVsbG8?="), None);
        assert_eq!(decode(b"=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(decode(b"=?BASE64?SGVsbG8=?=").as_deref(), Some("=?BASE64?SGVsbG8=?="));
        assert_eq!(decode(b"=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
        assert_eq!(decode(b"  x  ").as_deref(), Some("x"));
    }
}
