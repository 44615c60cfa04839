//! An answer as the dict that scripts get.

use reqwest::Response;
use serde_json::{Map, Value, json};

use super::hop::reason;

pub(super) async fn read(mut response: Response, limit: usize) -> Result<Value, String> {
    let status = response.status();
    let mut answer = Map::new();
    answer.insert("url".into(), response.url().as_str().into());
    answer.insert("status_code".into(), status.as_u16().into());
    answer.insert("status".into(), status.as_u16().into());
    answer.insert("success".into(), status.is_success().into());
    answer.insert("headers".into(), headers(&response));
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
        if bytes.len() + chunk.len() > limit {
            return Err(format!("the answer is larger than {limit} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    let text = String::from_utf8_lossy(&bytes);
    let parsed = serde_json::from_slice::<Value>(&bytes).ok();
    answer.insert("body".into(), text.as_ref().into());
    if let Some(parsed) = parsed {
        answer.insert("json".into(), parsed);
    }
    Ok(Value::Object(answer))
}

/// By lower-case name; what came several times is joined as HTTP says.
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
