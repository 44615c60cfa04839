//! Converts a response to the dict for scripts.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;
use serde_json::{Map, Value, json};

use super::hop::reason;

pub(super) async fn read(mut response: Response, limit: usize) -> Result<Value, String> {
    let status = response.status();
    let mut result = Map::new();
    result.insert("url".into(), response.url().as_str().into());
    result.insert("status_code".into(), status.as_u16().into());
    result.insert("status".into(), status.as_u16().into());
    result.insert("success".into(), status.is_success().into());
    result.insert("headers".into(), headers(&response));
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
        if bytes.len() + chunk.len() > limit {
            return Err(format!("the response is larger than {limit} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    let text = String::from_utf8_lossy(&bytes);
    let parsed = serde_json::from_slice::<Value>(&bytes).ok();
    result.insert("body".into(), text.as_ref().into());
    if let Cow::Owned(_) = text {
        result.insert("body_base64".into(), STANDARD.encode(&bytes).into());
    }
    if let Some(parsed) = parsed {
        result.insert("json".into(), parsed);
    }
    Ok(Value::Object(result))
}

/// Headers by lower-case name. Repeated headers are joined with a comma, as HTTP defines.
fn headers(response: &Response) -> Value {
    let mut members: Map<String, Value> = Map::new();
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        match members.get_mut(name.as_str()) {
            Some(Value::String(earlier)) => *earlier = format!("{earlier}, {value}"),
            _ => {
                members.insert(name.as_str().to_owned(), json!(value));
            }
        }
    }
    Value::Object(members)
}
