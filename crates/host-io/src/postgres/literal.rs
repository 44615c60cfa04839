//! A parameter of a statement. It is sent as text, and the server parses it as the type that the statement expects.

use std::error::Error;

use bytes::BytesMut;
use serde_json::Value;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::blob;

#[derive(Debug)]
pub(super) struct Literal(pub(super) Value);

impl ToSql for Literal {
    fn to_sql(&self, expected: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match text(expected, &self.0)? {
            None => Ok(IsNull::Yes),
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn text(expected: &Type, value: &Value) -> Result<Option<String>, String> {
    if let (Kind::Array(inner), Value::Array(items)) = (expected.kind(), value) {
        return array(inner, items).map(Some);
    }
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => match blob::from_json(other) {
            Some(bytes) if *expected == Type::BYTEA => format!("\\x{}", proxy_json::hex(&bytes?)),
            _ => other.to_string(),
        },
    }))
}

/// An array literal such as `{"1","2"}`, with every element quoted.
fn array(inner: &Type, items: &[Value]) -> Result<String, String> {
    let element = |item: &Value| match (item, text(inner, item)?) {
        // PostgreSQL has one element type for all dimensions of an array.
        (Value::Array(items), _) if !is_json(inner) => array(inner, items),
        (_, None) => Ok("NULL".to_owned()),
        (_, Some(text)) => Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))),
    };
    let elements: Vec<String> = items.iter().map(element).collect::<Result<_, String>>()?;
    Ok(format!("{{{}}}", elements.join(",")))
}

fn is_json(expected: &Type) -> bool {
    *expected == Type::JSON || *expected == Type::JSONB
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_the_server_reads_them() {
        let written = |expected: &Type, value: Value| text(expected, &value).unwrap();
        assert_eq!(written(&Type::INT4, json!(null)), None);
        assert_eq!(written(&Type::BOOL, json!(true)).unwrap(), "true");
        assert_eq!(written(&Type::NUMERIC, json!(1.5)).unwrap(), "1.5");
        assert_eq!(written(&Type::JSONB, json!({"a": [1]})).unwrap(), "{\"a\":[1]}");
        assert_eq!(written(&Type::BYTEA, json!({"base64": "AAH/"})).unwrap(), "\\x0001ff");
        assert_eq!(written(&Type::TEXT_ARRAY, json!(["a\"b\\c,}", null, ""])).unwrap(), r#"{"a\"b\\c,}",NULL,""}"#);
        assert_eq!(written(&Type::INT4_ARRAY, json!([[1, 2], [3, 4]])).unwrap(), r#"{{"1","2"},{"3","4"}}"#);
        assert_eq!(written(&Type::JSONB_ARRAY, json!([[1], {}])).unwrap(), r#"{"[1]","{}"}"#);
    }
}
