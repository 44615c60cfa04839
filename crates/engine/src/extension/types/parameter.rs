//! The parameters of a tool: their types, their defaults, and their schema.

use serde_json::{Map, Value as Json, json};

use crate::extension::values::Parameter;
use proxy_base::diagnostic::nearest;
use proxy_script::ScriptError;

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];
const ALIASES: [(&str, &str); 3] = [("int", "integer"), ("float", "number"), ("bool", "boolean")];

/// The JSON Schema name of a parameter type.
pub(super) fn type_name(name: &str) -> Result<&'static str, ScriptError> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, known)| *known);
    if let Some(known) = alias.or_else(|| TYPES.iter().find(|known| **known == name).copied()) {
        return Ok(known);
    }
    let error = ScriptError::new(format!("there is no parameter type `{name}`"));
    Err(match nearest(name, TYPES) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("the types are {}", TYPES.join(", "))),
    })
}

/// Converts a default to its type. Strings are parsed, because many extensions write all defaults as strings.
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
        .filter(|value| has_type(kind, value))
        .ok_or_else(|| ScriptError::new(format!("the default of `{name}`, {default}, is not of type {kind}")))
}

fn has_type(kind: &str, value: &Json) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_number() && !value.to_string().contains(['.', 'e', 'E']),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// The object schema of all parameters, and their defaults.
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

/// The defaults of the properties of a schema.
pub(super) fn defaults_in(schema: &Json) -> Map<String, Json> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let with_default = |(name, property): (&String, &Json)| Some((name.clone(), property.get("default")?.clone()));
    properties.map(|properties| properties.iter().filter_map(with_default).collect()).unwrap_or_default()
}
