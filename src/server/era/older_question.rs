//! A question as the revision of a session-based client has it.

use serde_json::{Map, Value};

use crate::backend::Question;
use crate::json::{Object, Raw, hex, raw};
use crate::wire::{Revision, RpcError};

/// The params to send; an error where the client's revision has no such question.
pub(crate) fn told(revision: Revision, question: &Question) -> Result<Raw, RpcError> {
    match question.method.as_str() {
        "elicitation/create" if revision >= Revision::V2025_11_25 => Ok(with_id(&question.params)),
        "elicitation/create" if revision >= Revision::V2025_06_18 => older_form(&question.params),
        "elicitation/create" => Err(RpcError::method_not_found(&question.method)),
        "sampling/createMessage" if revision < Revision::V2025_11_25 => Ok(older_sampling(&question.params)),
        _ => Ok(question.params.clone()),
    }
}

/// A person sent to an address is followed by an id, which stateless servers do not give.
fn with_id(params: &Raw) -> Raw {
    let Ok(object) = Object::of(params) else { return params.clone() };
    if object.string("mode").as_deref() != Some("url") || object.get("elicitationId").is_some() {
        return params.clone();
    }
    let mut random = [0u8; 16];
    // An id that is not random is still an id; it protects nothing.
    let _ = getrandom::fill(&mut random);
    object.edit().set("elicitationId", &raw(&hex(&random))).finish_raw()
}

/// The first revision with forms knows no modes, no titles of choices but `enumNames`, and no choice of several.
fn older_form(params: &Raw) -> Result<Raw, RpcError> {
    let refuse = |what: &str| RpcError::invalid_params(&format!("the client's protocol version has no {what}"));
    let object = Object::of(params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    if object.string("mode").is_some_and(|mode| mode != "form") {
        return Err(refuse("other elicitation mode than `form`"));
    }
    let mut edit = object.edit();
    edit.remove("mode");
    if let Some(schema) = object.get("requestedSchema") {
        let mut schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        for property in
            schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            if property["type"] == "array" {
                return Err(refuse("form in which several choices can be made"));
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

/// Until 2025-11-25 a message had one block; several become several messages of the same role.
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

    fn asked(revision: Revision, method: &str, params: Value) -> Result<Value, i64> {
        let question =
            Question { method: method.to_owned(), params: crate::json::raw(&params), patience: Duration::from_secs(1) };
        told(revision, &question).map(|told| serde_json::from_str(told.get()).unwrap()).map_err(|error| error.code())
    }

    #[test]
    fn the_first_forms_have_names_for_choices_and_no_mode() {
        let schema = json!({"type": "object", "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"},
            "sure": {"type": "boolean", "default": true},
        }});
        let params = json!({"mode": "form", "message": "?", "requestedSchema": schema});
        let told = asked(Revision::V2025_06_18, "elicitation/create", params).unwrap();
        assert_eq!(
            told,
            json!({"message": "?", "requestedSchema": {"type": "object", "properties": {
                "colour": {"type": "string", "enum": ["r"], "enumNames": ["Red"]},
                "sure": {"type": "boolean", "default": true},
            }}})
        );
    }

    #[test]
    fn what_a_revision_lacks_is_not_asked() {
        let several = json!({"requestedSchema": {"properties": {"a": {"type": "array"}}}});
        assert_eq!(asked(Revision::V2025_06_18, "elicitation/create", several), Err(-32602));
        assert_eq!(asked(Revision::V2025_06_18, "elicitation/create", json!({"mode": "url"})), Err(-32602));
        assert_eq!(asked(Revision::V2025_03_26, "elicitation/create", json!({})), Err(-32601));
    }

    #[test]
    fn an_address_gets_an_id_where_the_revision_wants_one() {
        let told =
            asked(Revision::V2025_11_25, "elicitation/create", json!({"mode": "url", "url": "https://x"})).unwrap();
        assert!(told["elicitationId"].as_str().is_some_and(|id| id.len() == 32));
        let kept = json!({"mode": "url", "elicitationId": "its own"});
        assert_eq!(asked(Revision::V2025_11_25, "elicitation/create", kept.clone()), Ok(kept));
    }

    #[test]
    fn several_blocks_become_several_messages() {
        let params = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]});
        let told = asked(Revision::V2025_06_18, "sampling/createMessage", params.clone()).unwrap();
        assert_eq!(told["messages"].as_array().map(Vec::len), Some(2));
        assert_eq!(told["messages"][1], json!({"role": "user", "content": {"type": "text", "text": "b"}}));
        assert_eq!(asked(Revision::V2025_11_25, "sampling/createMessage", params.clone()), Ok(params));
    }
}
