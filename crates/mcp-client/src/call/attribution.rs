//! Names the server in its elicitations. With several servers behind one client, users could not tell otherwise which
//! server asks, and the server controls the text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use proxy_base::foreign_text::visible;
use proxy_json::{Object, Raw, RawRef, raw};
use proxy_wire::{RpcError, code};

const ELICITATION: &str = "elicitation/create";

/// Whether the questions of servers name the server and show hidden characters. Shared by all connections; a proxy for a
/// single server carries its questions unchanged.
#[derive(Clone, Debug, Default)]
pub struct Attribution(Arc<AtomicBool>);

impl Attribution {
    pub fn set_needed(&self, is_needed: bool) {
        self.0.store(is_needed, Ordering::Relaxed);
    }

    fn is_needed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The params of a server's question.
    pub fn params(&self, server: &str, method: &str, params: Raw) -> Raw {
        if !self.is_needed() || method != ELICITATION {
            return params;
        }
        attributed(server, &params).unwrap_or(params)
    }

    /// A result that asks (`inputRequests`).
    pub fn result(&self, server: &str, result: Raw) -> Raw {
        if !self.is_needed() {
            return result;
        }
        let attributed = || {
            let object = Object::of(&result).ok()?;
            // What cannot be read cannot be shown either.
            let Ok(requests) = Object::of(object.get("inputRequests")?) else {
                return Some(object.edit().remove("inputRequests").finish_raw());
            };
            let mut edited = requests.edit();
            for (key, request) in requests.iter() {
                let entry = Object::of(request).ok();
                let params = entry.as_ref().and_then(|entry| entry.get("params"));
                let (Some(entry), true) = (entry, params.is_none_or(|params| Object::of(params).is_ok())) else {
                    edited.remove(key);
                    continue;
                };
                if entry.string("method").as_deref() == Some(ELICITATION)
                    && let Some(params) = params.and_then(|params| attributed(server, params))
                {
                    edited.set(key, &entry.edit().set("params", &params).finish_raw());
                }
            }
            Some(object.edit().set("inputRequests", &edited.finish_raw()).finish_raw())
        };
        attributed().unwrap_or(result)
    }

    /// An error that asks to visit an address; others stay as they are.
    pub fn error(&self, server: &str, error: RpcError) -> RpcError {
        if error.code() != code::URL_REQUIRED || !self.is_needed() {
            return error;
        }
        let Some(mut data) = error.data() else { return error };
        let Some(elicitations) = data.get_mut("elicitations").and_then(Value::as_array_mut) else { return error };
        for asked in elicitations {
            if let Some(Value::String(message)) = asked.get_mut("message") {
                *message = named(server, message);
            }
        }
        RpcError::with_data(error.code(), &error.message(), &data)
    }
}

fn named(server: &str, message: &str) -> String {
    format!("{} asks: {}", visible(server), visible(message))
}

/// The params of an elicitation with the server's name; `None` if there is no message.
fn attributed(server: &str, params: &RawRef) -> Option<Raw> {
    let object = Object::of(params).ok()?;
    let mut edit = object.edit();
    edit.set("message", &raw(&named(server, &object.string("message")?)));
    if let Some(schema) = object.get("requestedSchema")
        && let Ok(mut form) = serde_json::from_str::<Value>(schema.get())
        && write_hidden_out(&mut form)
    {
        edit.set("requestedSchema", &raw(&form));
    }
    Some(edit.finish_raw())
}

/// Writes hidden characters out where a form has text for people. Values and keys are sent back, and stay. Returns whether
/// there were any.
fn write_hidden_out(form: &mut Value) -> bool {
    let shown = |text: &mut Value| {
        let Value::String(text) = text else { return false };
        let seen = visible(text).into_owned();
        let is_changed = seen != *text;
        *text = seen;
        is_changed
    };
    let mut is_changed = false;
    match form {
        Value::Object(members) => {
            for (name, member) in members {
                is_changed |= match name.as_str() {
                    "title" | "description" if member.is_string() => shown(member),
                    "enumNames" if member.is_array() => {
                        member.as_array_mut().into_iter().flatten().fold(false, |any, name| shown(name) | any)
                    }
                    "default" | "enum" | "const" | "examples" if !member.is_object() => false,
                    _ => write_hidden_out(member),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                is_changed |= write_hidden_out(item);
            }
        }
        _ => {}
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn needed() -> Attribution {
        let attribution = Attribution::default();
        attribution.set_needed(true);
        attribution
    }

    fn value(text: &RawRef) -> Value {
        serde_json::from_str(text.get()).unwrap()
    }

    #[test]
    fn a_form_names_its_server_and_hides_nothing() {
        let params = json!({"message": "Pay \u{202e}lap", "requestedSchema": {"type": "object", "title": "T\u{200b}",
        "properties": {
            "k\u{200b}": {"type": "string", "title": "a\u{2066}", "description": "d\u{feff}", "default": "v\u{200b}"},
            "title": {"type": "string", "enum": ["e\u{200b}"], "enumNames": ["n\u{200b}"]},
            "default": {"oneOf": [{"const": "c\u{200b}", "title": "t\u{200b}"}]},
        }}});
        let shown = needed().params("bank", ELICITATION, raw(&params));
        assert_eq!(
            value(&shown),
            json!({"message": "bank asks: Pay \\u{202e}lap", "requestedSchema": {"type": "object", "title": "T\\u{200b}",
            "properties": {
                "k\u{200b}": {"type": "string", "title": "a\\u{2066}", "description": "d\\u{feff}", "default": "v\u{200b}"},
                "title": {"type": "string", "enum": ["e\u{200b}"], "enumNames": ["n\\u{200b}"]},
                "default": {"oneOf": [{"const": "c\u{200b}", "title": "t\\u{200b}"}]},
            }}})
        );
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        let text = r#"{ "message" : "Why?", "requestedSchema": {"n":1.0e2 }, "x": [ ] }"#;
        let params = || proxy_json::valid(text.to_owned()).unwrap();
        assert_eq!(Attribution::default().params("bank", ELICITATION, params()).get(), text);
        assert_eq!(needed().params("bank", "sampling/createMessage", params()).get(), text);
        assert_eq!(needed().params("bank", ELICITATION, params()).get(), text.replace("Why?", "bank asks: Why?"));
        let error = RpcError::new(-32000, "no");
        assert_eq!(needed().error("bank", error).to_string(), "no (-32000)");
    }

    #[test]
    fn results_and_errors_that_ask_name_the_server_too() {
        let result = json!({"resultType": "input_required", "requestState": "s", "inputRequests": {
            "a": {"method": ELICITATION, "params": {"message": "Why?"}},
            "b": {"method": "roots/list", "params": {}}}});
        let shown = value(&needed().result("bank", raw(&result)));
        assert_eq!(shown["inputRequests"]["a"]["params"]["message"], "bank asks: Why?");
        assert_eq!(
            (&shown["inputRequests"]["b"], &shown["requestState"]),
            (&result["inputRequests"]["b"], &json!("s"))
        );
        for data in [json!("y"), json!([1]), json!({"a": 1}), json!({"elicitations": 5})] {
            let error = needed().error("bank", RpcError::with_data(code::URL_REQUIRED, "URL", &data));
            assert_eq!(error.data(), Some(data));
        }
        for (twice, shown) in [
            (
                r#"{"inputRequests":{"a":{"method":"x","method":"elicitation/create","params":{}}}}"#,
                json!({"inputRequests": {}}),
            ),
            (
                r#"{"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"x","message":"y"}}}}"#,
                json!({"inputRequests": {}}),
            ),
            (r#"{"inputRequests":{"a":{},"a":{}},"n":1}"#, json!({"n": 1})),
        ] {
            assert_eq!(value(&needed().result("bank", proxy_json::valid(twice.to_owned()).unwrap())), shown);
        }
        let data = json!({"elicitations": [{"mode": "url", "message": "Log in", "url": "https://a"}]});
        let error = needed().error("bank", RpcError::with_data(code::URL_REQUIRED, "URL", &data));
        assert_eq!(error.data().unwrap()["elicitations"][0]["message"], "bank asks: Log in");
    }
}
