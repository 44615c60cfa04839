//! Checks values against a JSON Schema, with errors that name the field.

use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("invalid schema: {0}")]
    Schema(String),
    #[error("{0}")]
    Mismatch(String),
}

/// A compiled schema. References to other documents are never fetched.
#[derive(Debug)]
pub struct Schema(jsonschema::Validator);

impl Schema {
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        jsonschema::options().build(schema).map(Schema).map_err(|error| SchemaError::Schema(error.to_string()))
    }

    /// Reports up to five mismatches, each with the path of its field.
    pub fn check(&self, value: &Value) -> Result<(), SchemaError> {
        let mismatches: Vec<String> = self.0.iter_errors(value).take(5).map(|error| describe(&error)).collect();
        if mismatches.is_empty() { Ok(()) } else { Err(SchemaError::Mismatch(mismatches.join("; "))) }
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
    fn a_reference_to_the_network_is_not_fetched() {
        assert!(Schema::compile(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_err());
    }
}
