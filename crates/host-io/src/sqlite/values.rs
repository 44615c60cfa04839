//! Conversion between JSON and SQLite values.

use rusqlite::Statement;
use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use serde_json::{Value, json};

use crate::blob;

/// Binds a list to `?`, or a dict to `:name`, `@name` or `$name`. The number of parameters must match.
pub(super) fn bind(statement: &mut Statement<'_>, params: &Value) -> Result<(), String> {
    let expected = statement.parameter_count();
    match params {
        Value::Null if expected == 0 => Ok(()),
        Value::Null => Err(format!("the statement has {expected} parameters, but no `params` are given")),
        Value::Array(values) if values.len() != expected => {
            Err(format!("the statement has {expected} parameters, but `params` has {}", values.len()))
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                set(statement, index + 1, value).map_err(|fault| format!("parameter {}: {fault}", index + 1))?;
            }
            Ok(())
        }
        Value::Object(values) => {
            for index in 1..=expected {
                let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
                    return Err("the statement has unnamed parameters; pass a list as `params`".to_owned());
                };
                let value = values.get(&name[1..]).or_else(|| values.get(&name));
                let value = value.ok_or_else(|| format!("`params` has no `{}`", &name[1..]))?;
                set(statement, index, value).map_err(|fault| format!("parameter `{name}`: {fault}"))?;
            }
            Ok(())
        }
        _ => Err("`params` must be a list or a dict".to_owned()),
    }
}

fn set(statement: &mut Statement<'_>, index: usize, value: &Value) -> Result<(), String> {
    let stored = to_stored(value)?;
    statement.raw_bind_parameter(index, ToSqlOutput::Owned(stored)).map_err(|error| error.to_string())
}

fn to_stored(value: &Value) -> Result<Stored, String> {
    match value {
        Value::Null => Ok(Stored::Null),
        Value::Bool(value) => Ok(Stored::Integer((*value).into())),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Ok(Stored::Integer(integer)),
            (None, Some(real)) if number.to_string().contains(['.', 'e', 'E']) => Ok(Stored::Real(real)),
            _ => Err(format!("{number} exceeds the range of SQLite integers")),
        },
        Value::String(text) => Ok(Stored::Text(text.clone())),
        other => match blob::from_json(other) {
            Some(bytes) => bytes.map(Stored::Blob),
            None => {
                Err("lists and dicts cannot be stored; use json.encode(), or {\"base64\": ...} for bytes".to_owned())
            }
        },
    }
}

/// The JSON value, and its approximate size in bytes.
pub(super) fn to_json(value: ValueRef<'_>) -> (Value, usize) {
    match value {
        ValueRef::Null => (Value::Null, 8),
        ValueRef::Integer(integer) => (integer.into(), 8),
        ValueRef::Real(real) if real.is_finite() => (json!(real), 8),
        ValueRef::Real(real) => (json!(real.to_string()), 8),
        ValueRef::Text(bytes) => (String::from_utf8_lossy(bytes).into(), bytes.len()),
        ValueRef::Blob(bytes) => (blob::to_json(bytes), bytes.len() * 4 / 3),
    }
}
