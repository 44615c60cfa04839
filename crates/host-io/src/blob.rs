//! Binary data in JSON: `{"base64": "..."}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(super) fn to_json(bytes: &[u8]) -> Value {
    json!({ "base64": STANDARD.encode(bytes) })
}

/// The bytes of such a dict; `None` if it is another value.
pub(super) fn from_json(value: &Value) -> Option<Result<Vec<u8>, String>> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let text = members.get("base64")?.as_str()?;
    Some(STANDARD.decode(text).map_err(|error| format!("invalid base64 in `base64`: {error}")))
}
