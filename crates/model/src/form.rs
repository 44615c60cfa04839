//! Elicitation forms: validation of schemas and answers.

use serde_json::{Map, Value, json};

use proxy_base::foreign_text::visible;
use proxy_json::{Object, Raw, RawRef, Schema};

const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Checks and normalizes the schema of a form: a flat object of simple fields, as clients require. `{}` is a form
/// without fields. Fails with a description of the problem.
pub fn checked_form(schema: Map<String, Value>) -> Result<Value, String> {
    if schema.is_empty() {
        return Ok(json!({"type": "object", "properties": {}}));
    }
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("a form is an object: its `type` must be \"object\"".to_owned());
    }
    let empty = Map::new();
    let fields = match schema.get("properties") {
        Some(Value::Object(fields)) => fields,
        None => &empty,
        Some(_) => return Err("the `properties` of a form must be a dict".to_owned()),
    };
    for (name, field) in fields {
        check_field(field).map_err(|problem| format!("the field `{name}` {problem}"))?;
    }
    if let Some(required) = schema.get("required") {
        let names = required.as_array().ok_or("`required` must be a list of names")?;
        if let Some(unknown) = names.iter().find(|name| !name.as_str().is_some_and(|name| fields.contains_key(name))) {
            return Err(format!("`required` names {unknown}, which is not a field of the form"));
        }
    }
    let known = ["type", "properties", "required", "$schema", "title", "description"];
    if let Some(unknown) = schema.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("a form cannot have `{unknown}`: only `properties` and `required` are allowed"));
    }
    let mut form = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), json!(fields))]);
    form.extend(schema.into_iter().filter(|(key, _)| key == "required" || key == "$schema"));
    let mut form = Value::Object(form);
    write_hidden_out(&mut form, "")?;
    Schema::compile(&form).map(|_| form).map_err(|error| error.to_string())
}

/// Writes characters that nobody sees as escapes where a form has text for people. In names and choices, which are sent
/// back as they are, they are refused. `key` is the member that the value belongs to.
fn write_hidden_out(value: &mut Value, key: &str) -> Result<(), String> {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                refuse_hidden("name", name)?;
                write_hidden_out(member, name)?;
            }
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| write_hidden_out(item, key))?,
        Value::String(text) => match key {
            "title" | "description" | "default" | "enumNames" => *text = visible(text).into_owned(),
            "enum" | "const" => refuse_hidden("choice", text)?,
            _ => {}
        },
        _ => {}
    }
    Ok(())
}

fn refuse_hidden(what: &str, text: &str) -> Result<(), String> {
    match visible(text) {
        shown if shown == text => Ok(()),
        shown => Err(format!("the {what} `{shown}` contains invisible characters")),
    }
}

fn check_field(field: &Value) -> Result<(), String> {
    let members = field.as_object().ok_or("must be described by a dict")?;
    let known: &[&str] = match field["type"].as_str() {
        Some("string") => &["minLength", "maxLength", "format", "pattern", "enum", "enumNames", "oneOf"],
        Some("number" | "integer") => &["minimum", "maximum"],
        Some("boolean") => &[],
        Some("array") => return check_choices(members),
        Some(kind) => {
            return Err(format!("is of type `{kind}`: a form can have only text, numbers, booleans and choices"));
        }
        None => return Err("has no `type` (string, number, integer, boolean, or array of choices)".to_owned()),
    };
    only(members, known)?;
    if let Some(format) = members.get("format").filter(|format| !FORMATS.iter().any(|known| *format == *known)) {
        return Err(format!("has the format {format}; possible are {}", FORMATS.join(", ")));
    }
    Ok(())
}

/// Checks a multiple-choice field.
fn check_choices(members: &Map<String, Value>) -> Result<(), String> {
    only(members, &["items", "minItems", "maxItems"])?;
    let items = members.get("items").and_then(Value::as_object);
    let choices =
        items.is_some_and(|items| items.get("enum").or_else(|| items.get("anyOf")).is_some_and(Value::is_array));
    if choices { Ok(()) } else { Err("is a list without choices: `items` must have `enum` or `anyOf`".to_owned()) }
}

fn only(members: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let always = ["type", "title", "description", "default"];
    match members.keys().find(|key| !always.contains(&key.as_str()) && !known.contains(&key.as_str())) {
        Some(unknown) => Err(format!("cannot have `{unknown}` in a form")),
        None => Ok(()),
    }
}

/// Checks an answer to a form, and returns it as scripts get it, with `action` and `content`. Fails with the reason.
pub fn checked_answer(schema: &RawRef, answer: &RawRef) -> Result<Raw, String> {
    let object = Object::of(answer).map_err(|error| error.to_string())?;
    let action = object.string("action").ok_or("it has no `action`")?;
    if action != "accept" {
        if !["decline", "cancel"].contains(&action.as_str()) {
            return Err(format!("`{action}` is not one of accept, decline, cancel"));
        }
        return Ok(proxy_json::raw(&json!({"action": action, "content": {}})));
    }
    let content = object.get("content").map_or("{}", RawRef::get);
    let content: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
    let schema: Value = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
    let checker = Schema::compile(&schema).map_err(|error| error.to_string())?;
    checker.check(&content).map_err(|mismatch| mismatch.to_string())?;
    Ok(proxy_json::raw(&json!({"action": action, "content": content})))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: Value) -> Result<Value, String> {
        checked_form(schema.as_object().unwrap().clone())
    }

    #[test]
    fn a_form_is_a_flat_object_of_simple_fields() {
        assert_eq!(form(json!({})).unwrap(), json!({"type": "object", "properties": {}}));
        let good = json!({"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 20, "title": "Name"},
            "mail": {"type": "string", "format": "email"},
            "age": {"type": "integer", "minimum": 0, "default": 18},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}, "maxItems": 2},
        }, "required": ["name"]});
        assert_eq!(form(good.clone()).unwrap(), good);
    }

    #[test]
    fn what_no_client_can_show_is_refused_with_its_field() {
        for (schema, problem) in [
            (json!({"type": "string"}), "its `type` must be \"object\""),
            (json!({"properties": []}), "must be a dict"),
            (json!({"properties": {"a": {"type": "object"}}}), "the field `a` is of type `object`"),
            (json!({"properties": {"a": {}}}), "the field `a` has no `type`"),
            (json!({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}), "a list without choices"),
            (json!({"properties": {"a": {"type": "string", "format": "ipv4"}}}), "has the format \"ipv4\""),
            (json!({"properties": {"a": {"type": "boolean", "$ref": "#"}}}), "cannot have `$ref`"),
            (json!({"required": ["a"]}), "`required` names \"a\""),
            (json!({"allOf": []}), "cannot have `allOf`"),
            (json!({"properties": {"a": {"type": "string", "pattern": "("}}}), "invalid schema"),
        ] {
            let refused = form(schema.clone()).unwrap_err();
            assert!(refused.contains(problem), "{schema}: {refused}");
        }
    }

    #[test]
    fn an_answer_fits_its_form_or_is_none() {
        let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
        let check = |answer: Value| checked_answer(&proxy_json::raw(&schema), &proxy_json::raw(&answer));
        let taken = check(json!({"action": "accept", "content": {"age": 3}, "_meta": {}})).unwrap();
        assert_eq!(taken.get(), r#"{"action":"accept","content":{"age":3}}"#);
        let declined = check(json!({"action": "decline", "content": {"age": "?"}})).unwrap();
        assert_eq!(declined.get(), r#"{"action":"decline","content":{}}"#);
        assert!(check(json!({"action": "accept", "content": {"age": "x"}})).unwrap_err().starts_with("`age`"));
        assert!(check(json!({"action": "accept"})).unwrap_err().contains("age"));
        assert!(check(json!({"action": "yes"})).unwrap_err().contains("`yes`"));
        assert!(check(json!({})).unwrap_err().contains("`action`"));
    }
}
