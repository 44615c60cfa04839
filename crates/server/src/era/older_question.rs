//! Converts a question (elicitation, sampling) for the revision of a session-based client.

use serde_json::{Map, Value};

use proxy_json::{Object, Raw, hex, raw};
use proxy_mcp_client::Question;
use proxy_wire::{Revision, RpcError};

/// The params for the client's revision. Fails if the revision does not define the request.
pub(crate) fn params_for(revision: Revision, question: &Question) -> Result<Raw, RpcError> {
    match question.method.as_str() {
        "elicitation/create" if revision >= Revision::V2025_11_25 => Ok(with_id(&question.params)),
        "elicitation/create" if revision >= Revision::V2025_06_18 => older_form(&question.params),
        "elicitation/create" => Err(RpcError::method_not_found(&question.method)),
        "sampling/createMessage" if revision < Revision::V2025_11_25 => Ok(older_sampling(&question.params)),
        _ => Ok(question.params.clone()),
    }
}

/// Adds the `elicitationId` that 2025-11-25 requires for the mode `url`. Stateless servers do not send it.
fn with_id(params: &Raw) -> Raw {
    let Ok(object) = Object::of(params) else { return params.clone() };
    if object.string("mode").as_deref() != Some("url") || object.get("elicitationId").is_some() {
        return params.clone();
    }
    let mut random = [0u8; 16];
    // The id is not a secret, so a failure of the random number generator is harmless.
    let _ = getrandom::fill(&mut random);
    object.edit().set("elicitationId", &raw(&hex(&random))).finish_raw()
}

/// Converts a form for 2025-06-18, which has no modes, no multiple choice, and titles of choices only as `enumNames`.
fn older_form(params: &Raw) -> Result<Raw, RpcError> {
    let refuse =
        |what: &str| RpcError::invalid_params(&format!("the client's protocol version does not support {what}"));
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    if object.string("mode").is_some_and(|mode| mode != "form") {
        return Err(refuse("elicitation modes other than `form`"));
    }
    let mut edit = object.edit();
    edit.remove("mode");
    if let Some(schema) = object.get("requestedSchema") {
        let mut schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        for property in
            schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            if property["type"] == "array" {
                return Err(refuse("forms with multiple choice"));
            }
            older_property(property);
        }
        edit.set("requestedSchema", &raw(&schema));
    }
    Ok(edit.finish_raw())
}

fn older_property(property: &mut Value) {
    let Some(members) = property.as_object_mut() else { return };
    if members.get("type").is_some_and(|kind| kind != "boolean") {
        members.shift_remove("default");
    }
    let titled = members.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    if !titled.is_empty() {
        let part = |name: &str| -> Value { titled.iter().map(|choice| choice[name].clone()).collect() };
        let (values, names) = (part("const"), part("title"));
        members.shift_remove("oneOf");
        members.insert("enum".to_owned(), values);
        members.insert("enumNames".to_owned(), names);
    }
}

/// Before 2025-11-25 a message had a single block. A message with several blocks becomes several messages of the same
/// role.
fn older_sampling(params: &Raw) -> Raw {
    let Ok(object) = Object::of(params) else { return params.clone() };
    let Some(messages) = object.get("messages").and_then(|raw| serde_json::from_str::<Vec<Value>>(raw.get()).ok())
    else {
        return params.clone();
    };
    if !messages.iter().any(|message| message["content"].is_array()) {
        return params.clone();
    }
    let single: Vec<Value> = messages.into_iter().flat_map(split).collect();
    object.edit().set("messages", &raw(&single)).finish_raw()
}

fn split(message: Value) -> Vec<Value> {
    match message["content"].as_array() {
        None => vec![message],
        Some(blocks) => blocks
            .iter()
            .map(|block| {
                let mut one = message.clone();
                one["content"] = block.clone();
                one
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::time::Duration;

    use super::*;
    use proxy_mcp_client::Asker;

    fn convert(revision: Revision, method: &str, params: Value) -> Result<Value, i64> {
        let question = Question {
            method: method.to_owned(),
            params: proxy_json::raw(&params),
            answer_timeout: Duration::from_secs(1),
            asker: Asker::Server,
        };
        params_for(revision, &question)
            .map(|converted| serde_json::from_str(converted.get()).unwrap())
            .map_err(|error| error.code())
    }

    #[test]
    fn the_first_forms_have_names_for_choices_and_no_mode() {
        let schema = json!({"type": "object", "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"},
            "sure": {"type": "boolean", "default": true},
        }});
        let params = json!({"mode": "form", "message": "?", "requestedSchema": schema});
        let converted = convert(Revision::V2025_06_18, "elicitation/create", params).unwrap();
        assert_eq!(
            converted,
            json!({"message": "?", "requestedSchema": {"type": "object", "properties": {
                "colour": {"type": "string", "enum": ["r"], "enumNames": ["Red"]},
                "sure": {"type": "boolean", "default": true},
            }}})
        );
    }

    #[test]
    fn what_a_revision_lacks_is_not_asked() {
        let several = json!({"requestedSchema": {"properties": {"a": {"type": "array"}}}});
        assert_eq!(convert(Revision::V2025_06_18, "elicitation/create", several), Err(-32602));
        assert_eq!(convert(Revision::V2025_06_18, "elicitation/create", json!({"mode": "url"})), Err(-32602));
        assert_eq!(convert(Revision::V2025_03_26, "elicitation/create", json!({})), Err(-32601));
    }

    #[test]
    fn an_address_gets_an_id_where_the_revision_wants_one() {
        let converted =
            convert(Revision::V2025_11_25, "elicitation/create", json!({"mode": "url", "url": "https://x"})).unwrap();
        assert!(converted["elicitationId"].as_str().is_some_and(|id| id.len() == 32));
        let with_id = json!({"mode": "url", "elicitationId": "its own"});
        assert_eq!(convert(Revision::V2025_11_25, "elicitation/create", with_id.clone()), Ok(with_id));
    }

    #[test]
    fn several_blocks_become_several_messages() {
        let params = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]});
        let converted = convert(Revision::V2025_06_18, "sampling/createMessage", params.clone()).unwrap();
        assert_eq!(converted["messages"].as_array().map(Vec::len), Some(2));
        assert_eq!(converted["messages"][1], json!({"role": "user", "content": {"type": "text", "text": "b"}}));
        assert_eq!(convert(Revision::V2025_11_25, "sampling/createMessage", params.clone()), Ok(params));
    }
}
