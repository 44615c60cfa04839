//! `types`: every schema has one type. `["string", "null"]` becomes `"string"` that is `nullable`, any other list alternatives.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::walk::walk;
use crate::change::{Changes, Path};

pub(crate) fn single_types(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| match schema {
        Value::Bool(allowed) if !is_switch(at) => {
            let is_allowed = *allowed;
            let mut members = Map::new();
            if is_allowed {
                changes.note(at, || "`true` becomes `{}`".to_owned());
            } else {
                changes.take(&mut members, at, "never allowed");
            }
            *schema = Value::Object(members);
        }
        Value::Object(members) => {
            if let Some(Value::Array(_)) = members.get("type") {
                split(members, at, changes);
            }
            infer(members, at, changes);
        }
        _ => {}
    });
}

/// Whether a schema is usually `true` or `false` in this place.
fn is_switch(at: &Path<'_>) -> bool {
    let switches = ["additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"];
    at.last_name().is_some_and(|name| switches.contains(&name))
}

/// Replaces a list of types.
fn split(members: &mut Map<String, Value>, at: &Path<'_>, changes: &mut Changes) {
    let Some(Value::Array(listed)) = members.get("type") else { return };
    let mut types: Vec<String> = listed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let is_nullable = types.iter().any(|name| name == "null");
    let mut seen = HashSet::new();
    types.retain(|name| name != "null" && seen.insert(name.clone()));
    match &types[..] {
        [] if is_nullable => {
            changes.note(at, || "one `type`".to_owned());
            members.insert("type".to_owned(), "null".into());
        }
        [] => {
            members.shift_remove("type");
            changes.take(members, at, "type: []");
        }
        [only] => {
            let only = only.clone();
            changes.note(at, || if is_nullable { "`nullable` instead of `null`" } else { "one `type`" }.to_owned());
            members.insert("type".to_owned(), only.into());
            if is_nullable {
                members.insert("nullable".to_owned(), true.into());
            }
        }
        several => {
            if members.contains_key("anyOf") {
                let told = format!("type: {}", several.join(" or "));
                members.shift_remove("type");
                changes.take(members, at, &told);
                return;
            }
            let mut alternatives: Vec<Value> = several.iter().map(|name| alternative(name, members)).collect();
            if is_nullable {
                alternatives.push(json!({"type": "null"}));
            }
            changes.note(at, || "`anyOf` instead of a list of types".to_owned());
            members.retain(|keyword, _| keyword != "type" && types_of(keyword).is_empty());
            members.insert("anyOf".to_owned(), alternatives.into());
        }
    }
}

/// One of several types, with the keywords that are about it.
fn alternative(name: &str, members: &Map<String, Value>) -> Value {
    let own = members.iter().filter(|(keyword, _)| types_of(keyword).contains(&name));
    let mut alternative = Map::from_iter([("type".to_owned(), Value::from(name))]);
    alternative.extend(own.map(|(keyword, value)| (keyword.clone(), value.clone())));
    Value::Object(alternative)
}

/// The types that a keyword says something about; none if it is about every value.
fn types_of(keyword: &str) -> &'static [&'static str] {
    match keyword {
        "minLength" | "maxLength" | "pattern" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => &["integer", "number"],
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "minItems" | "maxItems" | "uniqueItems"
        | "contains" | "minContains" | "maxContains" => &["array"],
        "properties"
        | "required"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies" => &["object"],
        _ => &[],
    }
}

/// Adds the type that a schema without one is about.
fn infer(members: &mut Map<String, Value>, at: &Path<'_>, changes: &mut Changes) {
    let has_alternatives = ["type", "anyOf", "oneOf", "allOf", "$ref", "not", "if"];
    if has_alternatives.iter().any(|keyword| members.contains_key(*keyword)) {
        return;
    }
    let inferred = match members.get("enum") {
        Some(Value::Array(values)) if !values.is_empty() && values.iter().all(Value::is_string) => "string",
        Some(_) => return,
        None if members.contains_key("properties") => "object",
        None if members.contains_key("items") || members.contains_key("prefixItems") => "array",
        None => return,
    };
    changes.note(at, || format!("`type: {inferred}` added"));
    members.insert("type".to_owned(), inferred.into());
}
