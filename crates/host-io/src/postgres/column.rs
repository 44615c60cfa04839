//! Decodes the values of a row from PostgreSQL's binary format to JSON.

use std::error::Error;
use std::net::IpAddr;

use bytes::Buf;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Map, Value, json};
use tokio_postgres::types::{Field, FromSql, Kind, Type};
use uuid::Uuid;

use super::{datetime, number};
use crate::blob;

pub(super) type Decoded<T> = Result<T, Box<dyn Error + Sync + Send>>;

pub(super) struct Cell {
    pub(super) value: Value,
    /// Size of the encoded value in bytes.
    pub(super) weight: usize,
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Decoded<Self> {
        Ok(Cell { value: decode(kind, raw)?, weight: raw.len() })
    }

    fn from_sql_null(_: &Type) -> Decoded<Self> {
        Ok(Cell { value: Value::Null, weight: 0 })
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(kind: &Type, raw: &[u8]) -> Decoded<Value> {
    match kind.kind() {
        Kind::Array(inner) => array(inner, raw),
        Kind::Domain(inner) => decode(inner, raw),
        Kind::Enum(_) => Ok(text(raw)),
        Kind::Composite(fields) => composite(fields, raw),
        _ => simple(kind, raw),
    }
}

fn simple(kind: &Type, raw: &[u8]) -> Decoded<Value> {
    Ok(match *kind {
        Type::BOOL => bool::from_sql(kind, raw)?.into(),
        Type::INT2 => i16::from_sql(kind, raw)?.into(),
        Type::INT4 => i32::from_sql(kind, raw)?.into(),
        Type::INT8 => i64::from_sql(kind, raw)?.into(),
        Type::OID => u32::from_sql(kind, raw)?.into(),
        Type::FLOAT4 => number::shortest(&f32::from_sql(kind, raw)?.to_string()),
        Type::FLOAT8 => number::shortest(&f64::from_sql(kind, raw)?.to_string()),
        Type::NUMERIC => number::numeric(raw)?,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::XML | Type::CHAR => text(raw),
        Type::JSON | Type::JSONB => Value::from_sql(kind, raw)?,
        Type::UUID => Uuid::from_sql(kind, raw)?.to_string().into(),
        Type::BYTEA => blob::to_json(raw),
        Type::DATE => datetime::date(raw)?.into(),
        Type::TIME => datetime::time(raw)?.into(),
        Type::TIMESTAMP => datetime::timestamp::<DateTime>(kind, raw)?.into(),
        Type::TIMESTAMPTZ => datetime::timestamp::<Timestamp>(kind, raw)?.into(),
        Type::INTERVAL => datetime::interval(raw)?.into(),
        Type::INET | Type::CIDR => network(kind, raw)?.into(),
        Type::VOID => Value::Null,
        _ if kind.name() == "citext" => text(raw),
        // Extension types with a textual representation, some of them with the number of a version before the text.
        _ if <&str>::accepts(kind) => <&str>::from_sql(kind, raw)?.into(),
        _ => {
            let name = kind.name();
            return Err(
                format!("type `{name}` has no JSON representation; cast it in the statement, as in `x::text`").into()
            );
        }
    })
}

/// A database without an encoding may hold texts that are not UTF-8.
fn text(raw: &[u8]) -> Value {
    String::from_utf8_lossy(raw).into()
}

/// Reads a value with a length prefix; null if the length is negative.
fn counted(kind: &Type, raw: &mut &[u8]) -> Decoded<Value> {
    let Ok(length) = usize::try_from(raw.try_get_i32()?) else { return Ok(Value::Null) };
    decode(kind, raw.split_off(..length).ok_or("the value ends too early")?)
}

/// An array of any number of dimensions, which the driver does not have: their number, whether there are nulls, the
/// type, and for each dimension its length and its first index.
fn array(inner: &Type, mut raw: &[u8]) -> Decoded<Value> {
    let dimensions = raw.try_get_i32()?;
    raw.try_get_i64()?;
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(raw.try_get_i32()?);
        raw.try_get_i32()?;
    }
    if lengths.is_empty() { Ok(json!([])) } else { nested(inner, &lengths, &mut raw) }
}

fn nested(inner: &Type, lengths: &[i32], raw: &mut &[u8]) -> Decoded<Value> {
    let Some((length, further)) = lengths.split_first() else { return counted(inner, raw) };
    (0..*length).map(|_| nested(inner, further, raw)).collect()
}

fn composite(fields: &[Field], mut raw: &[u8]) -> Decoded<Value> {
    raw.try_get_i32()?;
    let mut members = Map::new();
    for field in fields {
        raw.try_get_i32()?;
        members.insert(field.name().to_owned(), counted(field.type_(), &mut raw)?);
    }
    Ok(Value::Object(members))
}

/// `inet` and `cidr`. The second byte is the length of the prefix, which the driver leaves out.
fn network(kind: &Type, raw: &[u8]) -> Decoded<String> {
    let address = IpAddr::from_sql(kind, raw)?;
    let bits = raw[1];
    let all = if address.is_ipv4() { 32 } else { 128 };
    let whole = bits == all && *kind == Type::INET;
    Ok(if whole { address.to_string() } else { format!("{address}/{bits}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_keep_their_shape_and_their_nulls() {
        let raw: Vec<u8> =
            [2, 1, 23, 2, 1, 2, 1, 4, 1, -1, 4, 3, 4, 4].iter().flat_map(|n: &i32| n.to_be_bytes()).collect();
        assert_eq!(array(&Type::INT4, &raw).unwrap(), json!([[1, null], [3, 4]]));
        assert_eq!(array(&Type::INT4, &[0; 12]).unwrap(), json!([]));
        assert!(array(&Type::INT4, &raw[..30]).is_err());
    }

    #[test]
    fn addresses_and_networks() {
        assert_eq!(simple(&Type::INET, &[2, 32, 0, 4, 10, 0, 0, 1]).unwrap(), "10.0.0.1");
        assert_eq!(simple(&Type::CIDR, &[2, 8, 1, 4, 10, 0, 0, 0]).unwrap(), "10.0.0.0/8");
        assert!(simple(&Type::POINT, &[]).unwrap_err().to_string().contains("`point`"));
    }
}
