//! Completes mock replies to the results that scripts receive.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::mocks::url_with_params;

/// The decoded base64 of a reply; empty if it has none.
pub(super) fn bytes_of(reply: &Value, key: &str) -> Result<Vec<u8>, String> {
    match reply.get(key) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => {
            STANDARD.decode(text).map_err(|error| format!("`{key}` of a reply is not base64: {error}"))
        }
        Some(_) => Err(format!("`{key}` of a reply must be base64")),
    }
}

/// The response for a reply, as the script receives it.
pub(super) fn http_result(reply: &Value, request: &Value) -> Value {
    let status = reply.get("status_code").or_else(|| reply.get("status")).and_then(Value::as_u64).unwrap_or(200);
    let body = match (reply, reply.get("json"), reply.get("body")) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(json), _) => json.to_string(),
        (_, _, Some(Value::String(body))) => body.clone(),
        // Checked when the rule was made, or the function returned.
        _ => String::from_utf8_lossy(&bytes_of(reply, "body_base64").unwrap_or_default()).into_owned(),
    };
    let mut result = json!({
        "url": url_with_params(request), "status_code": status, "status": status,
        "success": (200..300).contains(&status),
        "headers": reply.get("headers").cloned().unwrap_or_else(|| json!({})), "body": body,
    });
    if let Ok(parsed) = serde_json::from_str::<Value>(&body) {
        result["json"] = parsed;
    }
    if let Some(bytes) = reply.get("body_base64") {
        result["body_base64"] = bytes.clone();
    }
    result
}

/// The outcome of a command for a reply, as the script receives it.
pub(super) fn exec_result(reply: &Value, request: &Value) -> Value {
    let text = |member: &str| reply.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let stdout = reply.as_str().map_or_else(|| text("stdout"), str::to_owned);
    let timed_out = reply.get("timed_out").and_then(Value::as_bool).unwrap_or_default();
    let code = reply.get("exit_code").and_then(Value::as_i64).unwrap_or(if timed_out { -1 } else { 0 });
    let mut result = json!({
        "stderr": text("stderr"), "exit_code": code, "success": code == 0,
        "timed_out": timed_out, "truncated": reply.get("truncated").and_then(Value::as_bool).unwrap_or_default(),
    });
    let bytes = match reply.get("stdout_base64") {
        Some(_) => bytes_of(reply, "stdout_base64").unwrap_or_default(),
        None => stdout.into_bytes(),
    };
    if request["binary"] == true {
        result["stdout_base64"] = STANDARD.encode(bytes).into();
    } else {
        result["stdout"] = String::from_utf8_lossy(&bytes).into();
    }
    result
}
