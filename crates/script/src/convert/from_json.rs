//! From JSON to Starlark.

use num_bigint::BigInt;
use serde_json::{Map, Number, Value as Json};
use starlark::collections::{Hashed, SmallMap};
use starlark::values::dict::Dict;
use starlark::values::{Heap, Value};

use super::ConvertError;

/// The maximum length of a number. Parsing a number takes time quadratic in its length.
const MAX_DIGITS: usize = 5_000;

/// The maximum number of members of an object. The engine's maps hash without a seed, so whoever sends an object can choose
/// names with equal hashes, and adding them takes time quadratic in their number.
const MAX_MEMBERS: usize = 10_000;
/// More members with the same hash do not come about by chance.
const MAX_EQUAL_HASHES: usize = 64;

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
            let keys = hashed_keys(members, heap)?;
            let mut map = SmallMap::with_capacity(members.len());
            for (hashed, (key, member)) in keys.into_iter().zip(members) {
                let value = to_starlark(member, heap).map_err(|error| error.key(key))?;
                map.insert_hashed(hashed, value);
            }
            heap.alloc(Dict::new(map))
        }
    })
}

/// The keys of an object on the heap, unless they would make a map slow.
fn hashed_keys<'v>(members: &Map<String, Json>, heap: Heap<'v>) -> Result<Vec<Hashed<Value<'v>>>, ConvertError> {
    if members.len() > MAX_MEMBERS {
        return Err(ConvertError::new(format!(
            "an object with {} members; scripts can read at most {MAX_MEMBERS}",
            members.len()
        )));
    }
    let keys: Vec<Hashed<Value<'v>>> = members.keys().map(|key| heap.alloc_str(key).get_hashed_value()).collect();
    if keys.len() > MAX_EQUAL_HASHES {
        let mut hashes: Vec<u32> = keys.iter().map(|key| key.hash().get()).collect();
        hashes.sort_unstable();
        if hashes.windows(MAX_EQUAL_HASHES + 1).any(|window| window.first() == window.last()) {
            return Err(ConvertError::new("an object with too many keys that have the same hash"));
        }
    }
    Ok(keys)
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
