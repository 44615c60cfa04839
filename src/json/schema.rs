//! Checks values against a JSON Schema, with errors that name the field.

use serde_json::Value;

/// The values of the keyword `type`.
const TYPES: &str = "array, boolean, integer, null, number, object, string";

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema{}: {reason}", self.at())]
pub struct InvalidSchema {
    /// The JSON pointer to the faulty part; empty if it is the schema itself.
    pub place: String,
    pub reason: String,
}

impl InvalidSchema {
    /// The place for messages: `` at `/properties/n/type` ``; empty if it is the schema itself.
    pub fn at(&self) -> String {
        if self.place.is_empty() { String::new() } else { format!(" at `{}`", self.place) }
    }
}

impl From<jsonschema::ValidationError<'_>> for InvalidSchema {
    fn from(error: jsonschema::ValidationError<'_>) -> Self {
        let place = error.instance_path().to_string();
        let reason = match error.instance().as_ref() {
            // The schema of schemas says only that none of its alternatives matches.
            Value::String(kind) if place.ends_with("/type") => format!("`{kind}` is not a type; the types are {TYPES}"),
            Value::String(pattern) if place.ends_with("/pattern") => {
                format!("`{pattern}` is not a valid regular expression")
            }
            _ => error.to_string(),
        };
        InvalidSchema { place, reason }
    }
}

/// The mismatches between a value and a schema.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SchemaMismatch(String);

/// A compiled schema. References to other documents are never fetched.
#[derive(Debug)]
pub struct Schema(jsonschema::Validator);

impl Schema {
    /// Checks that the schema is valid, patterns included, and compiles it.
    pub fn compile(schema: &Value) -> Result<Self, InvalidSchema> {
        jsonschema::options().build(schema).map(Schema).map_err(InvalidSchema::from)
    }

    /// Reports up to five mismatches, each with the path of its field.
    pub fn check(&self, value: &Value) -> Result<(), SchemaMismatch> {
        let mismatches: Vec<String> = self.0.iter_errors(value).take(5).map(|error| describe(&error)).collect();
        if mismatches.is_empty() { Ok(()) } else { Err(SchemaMismatch(mismatches.join("; "))) }
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let field = path.trim_start_matches('/').replace('/', ".");
    if field.is_empty() { error.to_string() } else { format!("`{field}`: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mismatch_names_the_field() {
        let schema = Schema::compile(&json!({
            "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
        }))
        .unwrap();
        assert!(schema.check(&json!({"count": 1})).is_ok());
        let text = schema.check(&json!({"count": "x"})).unwrap_err().to_string();
        assert!(text.starts_with("`count`:"), "{text}");
        let text = schema.check(&json!({})).unwrap_err().to_string();
        assert!(text.contains("count"), "{text}");
    }

    #[test]
    fn an_invalid_schema_is_refused_with_its_place() {
        for (schema, place, reason) in [
            (json!({"type": "strng"}), "/type", "`strng` is not a type"),
            (json!({"properties": {"n": {"type": "strng"}}}), "/properties/n/type", "`strng` is not a type"),
            (json!({"properties": {"n": {"pattern": "["}}}), "/properties/n/pattern", "regular expression"),
            (json!({"properties": {"a/b": {"items": {"pattern": "("}}}}), "/properties/a~1b/items/pattern", "regular"),
            (json!({"patternProperties": {"[": {}}}), "/patternProperties", "["),
            (json!({"required": "n"}), "/required", "array"),
            (json!({"properties": {"n": {"$ref": "#/$defs/none"}}}), "", "none"),
        ] {
            let fault = Schema::compile(&schema).unwrap_err();
            assert!(fault.place.starts_with(place), "{schema}: {fault:?}");
            assert!(fault.reason.contains(reason), "{schema}: {fault:?}");
        }
    }

    #[test]
    fn a_reference_to_the_network_is_not_fetched() {
        assert!(Schema::compile(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_err());
    }
}
