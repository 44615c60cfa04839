//! A tool's parameters: their types, their defaults, and the schema they make.

use serde_json::{Map, Value as Json, json};

use super::values::Parameter;
use crate::diagnostic::nearest;
use crate::script::ScriptError;

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];
const ALIASES: [(&str, &str); 3] = [("int", "integer"), ("float", "number"), ("bool", "boolean")];

/// The JSON Schema name of a parameter type.
pub(super) fn type_name(given: &str) -> Result<&'static str, ScriptError> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == given).map(|(_, name)| *name);
    if let Some(name) = alias.or_else(|| TYPES.iter().find(|name| **name == given).copied()) {
        return Ok(name);
    }
    let complaint = ScriptError::new(format!("there is no parameter type `{given}`"));
    Err(match nearest(given, TYPES) {
        Some(near) => complaint.hint(format!("did you mean `{near}`?")),
        None => complaint.hint(format!("the types are {}", TYPES.join(", "))),
    })
}

/// A default as its type: text is converted, as extensions often give all defaults as text.
pub(super) fn default_as(kind: &str, default: Json, name: &str) -> Result<Json, ScriptError> {
    let converted = match (&default, kind) {
        (Json::String(text), "boolean") => match text.as_str() {
            "true" | "True" => Some(json!(true)),
            "false" | "False" => Some(json!(false)),
            _ => None,
        },
        (Json::String(text), "integer" | "number" | "array" | "object") => serde_json::from_str(text).ok(),
        _ => Some(default.clone()),
    };
    converted
        .filter(|value| is_a(kind, value))
        .ok_or_else(|| ScriptError::new(format!("the default of `{name}`, {default}, is not of type {kind}")))
}

fn is_a(kind: &str, value: &Json) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_number() && !value.to_string().contains(['.', 'e', 'E']),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// The object schema of all parameters, and the defaults to fill in.
pub(super) fn schema_of(parameters: &[&Parameter]) -> Result<(Json, Map<String, Json>), ScriptError> {
    let (mut properties, mut required, mut defaults) = (Map::new(), Vec::new(), Map::new());
    for parameter in parameters {
        if properties.insert(parameter.name.clone(), parameter.schema.clone()).is_some() {
            return Err(ScriptError::new(format!("there are two parameters `{}`", parameter.name)));
        }
        if parameter.required {
            required.push(parameter.name.clone());
        }
        if let Some(default) = &parameter.default {
            defaults.insert(parameter.name.clone(), default.clone());
        }
    }
    Ok((json!({"type": "object", "properties": properties, "required": required}), defaults))
}

/// The defaults that a full schema names for its properties.
pub(super) fn defaults_in(schema: &Json) -> Map<String, Json> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let with_default = |(name, property): (&String, &Json)| Some((name.clone(), property.get("default")?.clone()));
    properties.map(|properties| properties.iter().filter_map(with_default).collect()).unwrap_or_default()
}
