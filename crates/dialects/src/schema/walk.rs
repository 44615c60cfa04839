//! Visits every schema in a schema.

use serde_json::Value;

use crate::change::Path;

/// What the value of a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// One schema; for `items` of older drafts, a list.
    Schema,
    List,
    /// Schemas by names that others chose.
    Map,
    /// No schemas.
    Data,
}

/// What the value of a keyword holds.
pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => Holds::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
            Holds::Map
        }
        _ => Holds::Data,
    }
}

/// Visits the schemas in a schema, and then the schema itself.
pub(super) fn walk(schema: &mut Value, at: &Path<'_>, visit: &mut dyn FnMut(&mut Value, &Path<'_>)) {
    if let Value::Object(members) = schema {
        for (keyword, value) in members.iter_mut() {
            let at = at.name(keyword);
            match (holds(keyword), value) {
                (Holds::Schema | Holds::List, Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter_mut().enumerate() {
                        walk(schema, &at.index(index), visit);
                    }
                }
                (Holds::Schema, schema) => walk(schema, &at, visit),
                (Holds::Map, Value::Object(schemas)) => {
                    for (name, schema) in schemas.iter_mut() {
                        walk(schema, &at.name(name), visit);
                    }
                }
                _ => {}
            }
        }
    }
    visit(schema, at);
}
