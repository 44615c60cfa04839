//! Handles the error of a server that requires a client capability.

use serde_json::{Value, json};

use proxy_json::{Raw, RawRef};
use proxy_mcp_client::CallError;
use proxy_model::{ItemKind, error_result};
use proxy_wire::{Revision, RpcError, code};

/// Converts the error to one that the client can act on. A stateless client that did not declare the capability
/// receives the error and may retry with the capability. If it did declare the capability, the proxy's connection to
/// the server lacks it, which is an internal error. A session-based client cannot change its capabilities, so it
/// receives the reason. `declared` are the capabilities of a stateless client.
pub(crate) fn resolve(
    revision: Revision,
    declared: Option<&RawRef>,
    kind: ItemKind,
    fault: CallError,
) -> Result<Raw, CallError> {
    let error = match fault {
        CallError::Rpc(error) if error.code() == code::MISSING_CAPABILITY => error,
        other => return Err(other),
    };
    let data = error.data().unwrap_or_default();
    let required = &data["requiredCapabilities"];
    if revision.is_stateless() {
        let declared = declared.map(RawRef::get).unwrap_or("{}");
        let declared: Value = serde_json::from_str(declared).unwrap_or_default();
        return Err(if lacks(&declared, required) { rpc(error) } else { internal(&error.message(), &error) });
    }
    let mut names = Vec::new();
    collect_names("", required, &mut names);
    let required = if names.is_empty() { "a capability".to_owned() } else { names.join(", ") };
    let message = format!("the server requires {required}, which the client did not declare: {}", error.message());
    match kind {
        ItemKind::Tool => Ok(error_result(&message)),
        _ => Err(internal(&message, &error)),
    }
}

fn internal(message: &str, error: &RpcError) -> CallError {
    let data = json!({"code": error.code(), "data": error.data()});
    rpc(RpcError::with_data(code::INTERNAL, message, &data))
}

fn rpc(error: RpcError) -> CallError {
    CallError::Rpc(error)
}

/// Whether a required capability was not declared.
fn lacks(declared: &Value, required: &Value) -> bool {
    let Value::Object(required) = required else { return false };
    required.iter().any(|(name, inner)| match declared.get(name) {
        None | Some(Value::Null) => true,
        Some(declared) => lacks(declared, inner),
    })
}

/// Collects the names of the required capabilities, such as `elicitation.url`.
fn collect_names(path: &str, required: &Value, names: &mut Vec<String>) {
    match required {
        Value::Object(members) if !members.is_empty() => {
            for (name, inner) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect_names(&path, inner, names);
            }
        }
        _ if !path.is_empty() => names.push(format!("`{path}`")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_declared_is_lacking() {
        let declared = json!({"elicitation": {"form": {}}, "sampling": {}});
        assert!(!lacks(&declared, &json!({"sampling": {}})));
        assert!(lacks(&declared, &json!({"elicitation": {"url": {}}})));
        assert!(lacks(&declared, &json!({"roots": {}})));
        assert!(!lacks(&declared, &Value::Null));
        let mut names = Vec::new();
        collect_names("", &json!({"elicitation": {"url": {}}, "roots": {}}), &mut names);
        assert_eq!(names, ["`elicitation.url`", "`roots`"]);
    }
}
