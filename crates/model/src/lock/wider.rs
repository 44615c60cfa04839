//! Whether a JSON Schema only got wider: every value that the approved schema allows is still allowed, and means what it
//! meant. In doubt it did not.

use serde_json::{Map, Value};

use proxy_json::canonical;

/// Keywords that only describe a value.
const TEXTS: [&str; 8] = ["description", "title", "examples", "default", "$comment", "deprecated", "$schema", "$id"];
/// Keywords whose values are limits; a lower one is wider.
const MINIMA: [&str; 6] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
/// Keywords whose values are limits; a higher one is wider.
const MAXIMA: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/// Keywords that restrict; a schema without them is wider.
const RESTRICTIONS: [&str; 5] = ["pattern", "format", "multipleOf", "uniqueItems", "const"];
/// Keywords whose values are schemas; a wider one is wider.
const SCHEMAS: [&str; 2] = ["items", "additionalProperties"];

/// Why a schema is not wider than the approved one; `None` if it is, or if only its texts differ.
pub(super) fn narrowing(approved: &Value, live: &Value) -> Option<String> {
    schema(approved, live, &mut Vec::new()).err()
}

fn schema(approved: &Value, live: &Value, path: &mut Vec<String>) -> Result<(), String> {
    if canonical(approved) == canonical(live) {
        return Ok(());
    }
    // `true` allows everything.
    if *live == Value::Bool(true) || *approved == Value::Bool(false) {
        return Ok(());
    }
    let Value::Object(before) = approved else { return Err(at(path, "is another schema")) };
    let Value::Object(now) = live else { return Err(at(path, "is another schema")) };
    types(before, now, path)?;
    required(before, now, path)?;
    properties(before, now, path)?;
    for keyword in before.keys().chain(now.keys()) {
        if !is_same(before, now, keyword) {
            other_keyword(keyword, before, now, path)?;
        }
    }
    Ok(())
}

fn is_same(before: &Map<String, Value>, now: &Map<String, Value>, keyword: &str) -> bool {
    before.get(keyword).map(canonical) == now.get(keyword).map(canonical)
}

fn other_keyword(
    keyword: &str,
    before: &Map<String, Value>,
    now: &Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<(), String> {
    let old = before.get(keyword);
    let new = now.get(keyword);
    let is_wider = match keyword {
        "type" | "required" | "properties" => true,
        _ if TEXTS.contains(&keyword) => true,
        _ if RESTRICTIONS.contains(&keyword) => new.is_none(),
        _ if MINIMA.contains(&keyword) => limit(old, new, |old, new| new <= old),
        _ if MAXIMA.contains(&keyword) => limit(old, new, |old, new| new >= old),
        "enum" => match (old.and_then(Value::as_array), new) {
            (_, None) => true,
            (Some(old), Some(Value::Array(new))) => old.iter().all(|value| contains(new, value)),
            _ => false,
        },
        "anyOf" => match (old.and_then(Value::as_array), new) {
            (_, None) => true,
            (Some(old), Some(Value::Array(new))) => old.iter().all(|value| contains(new, value)),
            _ => false,
        },
        _ if SCHEMAS.contains(&keyword) => {
            path.push(keyword.to_owned());
            schema(old.unwrap_or(&Value::Bool(true)), new.unwrap_or(&Value::Bool(true)), path)?;
            path.pop();
            true
        }
        _ => false,
    };
    if is_wider { Ok(()) } else { Err(at(path, &format!("has another `{keyword}`"))) }
}

fn limit(old: Option<&Value>, new: Option<&Value>, is_wider: impl Fn(f64, f64) -> bool) -> bool {
    match (old.and_then(Value::as_f64), new) {
        (_, None) => true,
        (Some(old), Some(new)) => new.as_f64().is_some_and(|new| is_wider(old, new)),
        _ => false,
    }
}

fn contains(values: &[Value], wanted: &Value) -> bool {
    values.iter().any(|value| canonical(value) == canonical(wanted))
}

fn types(before: &Map<String, Value>, now: &Map<String, Value>, path: &[String]) -> Result<(), String> {
    let Some(new) = now.get("type") else { return Ok(()) };
    let Some(old) = before.get("type") else { return Err(at(path, "has a type now")) };
    let old = names(old);
    let new = names(new);
    let is_allowed = |name: &&str| new.contains(name) || (**name == *"integer" && new.contains(&"number"));
    if old.iter().all(is_allowed) { Ok(()) } else { Err(at(path, "has another type")) }
}

fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

fn required(before: &Map<String, Value>, now: &Map<String, Value>, path: &[String]) -> Result<(), String> {
    let list = |schema: &Map<String, Value>| schema.get("required").cloned().unwrap_or_default();
    let old = list(before);
    let new = list(now);
    let old = names(&old);
    let new = names(&new);
    match new.iter().find(|name| !old.contains(name)) {
        Some(name) => Err(at(path, &format!("requires `{name}` now"))),
        None => Ok(()),
    }
}

fn properties(before: &Map<String, Value>, now: &Map<String, Value>, path: &mut Vec<String>) -> Result<(), String> {
    let empty = Map::new();
    let of = |schema: &'_ Map<String, Value>| schema.get("properties").and_then(Value::as_object).cloned();
    let old = of(before).unwrap_or_else(|| empty.clone());
    let new = of(now).unwrap_or(empty);
    for (name, property) in &old {
        let Some(live) = new.get(name) else {
            return Err(at(path, &format!("no longer has the property `{name}`")));
        };
        path.push(name.clone());
        schema(property, live, path)?;
        path.pop();
    }
    Ok(())
}

fn at(path: &[String], problem: &str) -> String {
    if path.is_empty() { format!("it {problem}") } else { format!("`{}` {problem}", path.join(".")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(properties: Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    #[test]
    fn what_allows_more_is_wider() {
        let pairs = [
            (object(json!({"a": {"type": "integer"}})), object(json!({"a": {"type": "number"}}))),
            (object(json!({"a": {"type": "string"}})), object(json!({"a": {"type": ["string", "null"]}, "b": {}}))),
            (object(json!({"a": {"enum": [1]}})), object(json!({"a": {"enum": [1, 2]}}))),
            (object(json!({"a": {"maxLength": 3, "pattern": "x"}})), object(json!({"a": {"maxLength": 4}}))),
            (object(json!({"a": {"description": "x"}})), object(json!({"a": {"description": "y"}}))),
            (json!({"required": ["a", "b"]}), json!({"required": ["a"]})),
            (json!({"additionalProperties": false}), json!({"additionalProperties": {}})),
            (json!({"items": {"minimum": 3}}), json!({"items": {"minimum": 2}})),
        ];
        for (approved, live) in pairs {
            assert_eq!(narrowing(&approved, &live), None, "{approved} {live}");
        }
    }

    #[test]
    fn what_refuses_a_call_that_was_fine_is_not_wider() {
        let pairs = [
            (object(json!({"a": {}})), object(json!({})), "it no longer has the property `a`"),
            (
                object(json!({"a": {"type": "string"}})),
                object(json!({"a": {"type": "object"}})),
                "`a` has another type",
            ),
            (object(json!({"a": {}})), object(json!({"a": {"type": "string"}})), "`a` has a type now"),
            (json!({}), json!({"required": ["key"]}), "it requires `key` now"),
            (json!({"enum": [1, 2]}), json!({"enum": [1]}), "it has another `enum`"),
            (json!({}), json!({"additionalProperties": false}), "`additionalProperties` is another schema"),
            (json!({}), json!({"not": {}}), "it has another `not`"),
            (json!({"$defs": {"a": {}}}), json!({"$defs": {"a": {"type": "null"}}}), "it has another `$defs`"),
            (json!({"pattern": "a"}), json!({"pattern": "b"}), "it has another `pattern`"),
            (json!({"maximum": 3}), json!({"maximum": 2}), "it has another `maximum`"),
        ];
        for (approved, live, why) in pairs {
            assert_eq!(narrowing(&approved, &live).as_deref(), Some(why), "{approved} {live}");
        }
    }
}
