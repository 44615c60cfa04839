//! From Starlark to JSON.

use num_bigint::BigInt;
use serde_json::{Map, Number, Value as Json};
use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};

use super::ConvertError;
use proxy_json::MAX_DEPTH;

/// Converts a value to JSON. Sets and ranges become arrays, structs objects. A value that JSON cannot represent is an error
/// with its path.
pub fn to_json<'v>(value: Value<'v>, heap: Heap<'v>) -> Result<Json, ConvertError> {
    convert(value, heap, 0)
}

/// Converts a dict to a JSON object. None if the value is not a dict.
pub fn to_object<'v>(value: Value<'v>, heap: Heap<'v>) -> Result<Option<Map<String, Json>>, ConvertError> {
    DictRef::from_value(value).map(|dict| object(dict.iter(), heap, 0)).transpose()
}

fn convert<'v>(value: Value<'v>, heap: Heap<'v>, depth: usize) -> Result<Json, ConvertError> {
    if depth > MAX_DEPTH {
        return Err(ConvertError::new(format!("nested deeper than {MAX_DEPTH} levels, or containing itself")));
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Some(text) = value.unpack_str() {
        return Ok(Json::String(text.to_owned()));
    }
    if let Some(flag) = value.unpack_bool() {
        return Ok(Json::Bool(flag));
    }
    if let Some(small) = value.unpack_i32() {
        return Ok(Json::from(small));
    }
    if let Some(dict) = DictRef::from_value(value) {
        return object(dict.iter(), heap, depth).map(Json::Object);
    }
    if let Some(list) = ListRef::from_value(value) {
        return array(list.iter(), heap, depth);
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return array(tuple.iter(), heap, depth);
    }
    if let Some(float) = value.downcast_ref::<StarlarkFloat>() {
        return Number::from_f64(float.0)
            .map(Json::Number)
            .ok_or_else(|| ConvertError::new(format!("{value} is a number that JSON cannot hold")));
    }
    convert_rare(value, heap, depth)
}

/// Types that rarely occur, checked last.
fn convert_rare<'v>(value: Value<'v>, heap: Heap<'v>, depth: usize) -> Result<Json, ConvertError> {
    if let Some(fields) = StructRef::from_value(value) {
        return object(fields.iter().map(|(key, field)| (key.to_value(), field)), heap, depth).map(Json::Object);
    }
    if let Ok(Some(big)) = BigInt::unpack_value(value) {
        return big
            .to_string()
            .parse::<Number>()
            .map(Json::Number)
            .map_err(|_| ConvertError::new("an integer that JSON cannot hold"));
    }
    match value.get_type() {
        "set" | "range" => {
            let items = value.iterate(heap).map_err(|error| ConvertError::new(error.to_string()))?;
            array(items, heap, depth)
        }
        "function" => Err(ConvertError::new("a function has no JSON representation")),
        kind => value.to_json_value().map_err(|_| ConvertError::new(format!("a `{kind}` has no JSON representation"))),
    }
}

fn array<'v>(items: impl Iterator<Item = Value<'v>>, heap: Heap<'v>, depth: usize) -> Result<Json, ConvertError> {
    let converted = items
        .enumerate()
        .map(|(index, item)| convert(item, heap, depth + 1).map_err(|error| error.index(index)))
        .collect::<Result<_, _>>()?;
    Ok(Json::Array(converted))
}

fn object<'v>(
    entries: impl Iterator<Item = (Value<'v>, Value<'v>)>,
    heap: Heap<'v>,
    depth: usize,
) -> Result<Map<String, Json>, ConvertError> {
    let mut members = Map::new();
    for (key, value) in entries {
        let name = key.unpack_str().ok_or_else(|| {
            ConvertError::new(format!("the key {} is a `{}`; JSON keys must be strings", key.to_repr(), key.get_type()))
        })?;
        let member = convert(value, heap, depth + 1).map_err(|error| error.key(name))?;
        members.insert(name.to_owned(), member);
    }
    Ok(members)
}
