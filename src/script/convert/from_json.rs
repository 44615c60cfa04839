//! From JSON to Starlark.

use num_bigint::BigInt;
use serde_json::{Number, Value as Json};
use starlark::collections::SmallMap;
use starlark::values::dict::Dict;
use starlark::values::{Heap, Value};

use super::ConvertError;

/// The maximum length of a number. Parsing a number takes time quadratic in its length.
const MAX_DIGITS: usize = 5_000;

/// Converts JSON to fresh, mutable values on the heap.
pub fn to_starlark<'v>(json: &Json, heap: Heap<'v>) -> Result<Value<'v>, ConvertError> {
    Ok(match json {
        Json::Null => Value::new_none(),
        Json::Bool(flag) => Value::new_bool(*flag),
        Json::Number(number) => number_to_starlark(number, heap)?,
        Json::String(text) => heap.alloc(text.as_str()),
        Json::Array(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                values.push(to_starlark(item, heap).map_err(|error| error.index(index))?);
            }
            heap.alloc(values)
        }
        Json::Object(members) => {
            let mut map = SmallMap::with_capacity(members.len());
            for (key, member) in members {
                let value = to_starlark(member, heap).map_err(|error| error.key(key))?;
                map.insert_hashed(heap.alloc_str(key).get_hashed_value(), value);
            }
            heap.alloc(Dict::new(map))
        }
    })
}

/// Parses JSON text and converts it.
pub fn text_to_starlark<'v>(text: &str, heap: Heap<'v>) -> Result<Value<'v>, ConvertError> {
    let json: Json = serde_json::from_str(text).map_err(|error| ConvertError::new(format!("not JSON: {error}")))?;
    to_starlark(&json, heap)
}

fn number_to_starlark<'v>(number: &Number, heap: Heap<'v>) -> Result<Value<'v>, ConvertError> {
    if let Some(small) = number.as_i64() {
        return Ok(heap.alloc(small));
    }
    let text = number.to_string();
    let out_of_range = || {
        let shown: String = text.chars().take(40).collect();
        ConvertError::new(format!("number out of range: {shown}"))
    };
    if text.len() > MAX_DIGITS {
        return Err(out_of_range());
    }
    if !text.contains(['.', 'e', 'E']) {
        return text.parse::<BigInt>().map(|big| heap.alloc(big)).map_err(|_| out_of_range());
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(heap.alloc(float)),
        _ => Err(out_of_range()),
    }
}
