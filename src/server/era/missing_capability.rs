//! A server that wants a capability of the client: whose fault it is that it is missing.

use serde_json::{Value, json};

use crate::backend::CallError;
use crate::json::{Raw, RawRef};
use crate::model::{ItemKind, error_result};
use crate::server::client::client::Client;
use crate::wire::{RpcError, code};

/// Turns such an error into what this client can act on. A stateless client that did not declare what is wanted is told so and may
/// ask again with it; where it did declare it, our own leg to the server is at fault. A session-based client declared
/// what it can once and for all, so all it can do is read the reason.
pub(crate) fn resolve(client: &Client, kind: ItemKind, fault: CallError) -> Result<Raw, CallError> {
    let error = match fault {
        CallError::Rpc(error) if error.code() == code::MISSING_CAPABILITY => error,
        other => return Err(other),
    };
    let data = error.data().unwrap_or_default();
    let required = &data["requiredCapabilities"];
    if client.revision.is_stateless() {
        let declared = client.declared().map(RawRef::get).unwrap_or("{}");
        let declared: Value = serde_json::from_str(declared).unwrap_or_default();
        return Err(if lacks(&declared, required) { rpc(error) } else { internal(&error.message(), &error) });
    }
    let mut names = Vec::new();
    collect_names("", required, &mut names);
    let wanted = if names.is_empty() { "something".to_owned() } else { names.join(", ") };
    let message =
        format!("the server needs {wanted} of the client, which this connection does not offer: {}", error.message());
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

/// Whether something is required that was not declared.
fn lacks(declared: &Value, required: &Value) -> bool {
    let Value::Object(required) = required else { return false };
    required.iter().any(|(name, inner)| match declared.get(name) {
        None | Some(Value::Null) => true,
        Some(declared) => lacks(declared, inner),
    })
}

/// The names of what is required, as in `elicitation.url`.
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
