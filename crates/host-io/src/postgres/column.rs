//! Decodes the values of a row from PostgreSQL's binary format to JSON.

use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};
use tokio_postgres::types::{Field, FromSql, Kind, Type};

use super::{datetime, number};
use crate::blob;

pub(super) struct Cell {
    pub(super) value: Value,
    /// Size of the encoded value in bytes.
    pub(super) weight: usize,
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Cell { value: decode(kind, raw)?, weight: raw.len() })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Cell { value: Value::Null, weight: 0 })
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(kind: &Type, raw: &[u8]) -> Result<Value, String> {
    match kind.kind() {
        Kind::Array(inner) => array(inner, raw),
        Kind::Domain(inner) => decode(inner, raw),
        Kind::Enum(_) => Ok(text(raw)),
        Kind::Composite(fields) => composite(fields, raw),
        _ => simple(kind, raw),
    }
}

fn simple(kind: &Type, raw: &[u8]) -> Result<Value, String> {
    Ok(match *kind {
        Type::BOOL => json!(raw == [1]),
        Type::INT2 => json!(i16::from_be_bytes(fixed(raw)?)),
        Type::INT4 => json!(i32::from_be_bytes(fixed(raw)?)),
        Type::INT8 => json!(i64::from_be_bytes(fixed(raw)?)),
        Type::OID => json!(u32::from_be_bytes(fixed(raw)?)),
        Type::FLOAT4 => number::shortest(&f32::from_be_bytes(fixed(raw)?).to_string()),
        Type::FLOAT8 => number::shortest(&f64::from_be_bytes(fixed(raw)?).to_string()),
        Type::NUMERIC => number::numeric(raw)?,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::XML | Type::CHAR => text(raw),
        Type::JSON => parsed(raw)?,
        Type::JSONB => parsed(raw.get(1..).unwrap_or_default())?,
        Type::UUID => json!(uuid::Uuid::from_bytes(fixed(raw)?).to_string()),
        Type::BYTEA => blob::to_json(raw),
        Type::DATE => datetime::date(i32::from_be_bytes(fixed(raw)?))?,
        Type::TIME => datetime::time(i64::from_be_bytes(fixed(raw)?))?,
        Type::TIMESTAMP => datetime::timestamp(i64::from_be_bytes(fixed(raw)?), false)?,
        Type::TIMESTAMPTZ => datetime::timestamp(i64::from_be_bytes(fixed(raw)?), true)?,
        Type::INTERVAL => datetime::interval(fixed(raw)?),
        Type::INET | Type::CIDR => network(kind, raw)?,
        Type::VOID => Value::Null,
        // Extension types with a textual representation.
        _ if ["citext", "ltree", "lquery"].contains(&kind.name()) => text(raw),
        _ => {
            return Err(format!(
                "type `{0}` has no JSON representation; cast it in the statement, as in `x::text`",
                kind.name()
            ));
        }
    })
}

fn text(raw: &[u8]) -> Value {
    String::from_utf8_lossy(raw).into()
}

fn parsed(raw: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(raw).map_err(|error| error.to_string())
}

pub(super) fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], String> {
    raw.try_into().map_err(|_| format!("{} bytes instead of {N}", raw.len()))
}

/// Reads big-endian numbers and length-prefixed values.
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("the value ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn short(&mut self) -> Result<i16, String> {
        Ok(i16::from_be_bytes(fixed(self.take(2)?)?))
    }

    fn long(&mut self) -> Result<i32, String> {
        Ok(i32::from_be_bytes(fixed(self.take(4)?)?))
    }

    /// A value with a length prefix; null if the length is negative.
    fn counted(&mut self, kind: &Type) -> Result<Value, String> {
        match usize::try_from(self.long()?) {
            Ok(length) => decode(kind, self.take(length)?),
            Err(_) => Ok(Value::Null),
        }
    }
}

fn array(inner: &Type, raw: &[u8]) -> Result<Value, String> {
    let mut reader = ByteReader(raw);
    let dimensions = reader.long()?;
    reader.take(8)?;
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(usize::try_from(reader.long()?).unwrap_or(0));
        reader.long()?;
    }
    if lengths.is_empty() { Ok(json!([])) } else { nested(inner, &lengths, &mut reader) }
}

fn nested(inner: &Type, lengths: &[usize], reader: &mut ByteReader<'_>) -> Result<Value, String> {
    let Some((length, further)) = lengths.split_first() else { return reader.counted(inner) };
    (0..*length).map(|_| nested(inner, further, reader)).collect()
}

fn composite(fields: &[Field], raw: &[u8]) -> Result<Value, String> {
    let mut reader = ByteReader(raw);
    reader.long()?;
    let mut members = Map::new();
    for field in fields {
        reader.long()?;
        members.insert(field.name().to_owned(), reader.counted(field.type_())?);
    }
    Ok(Value::Object(members))
}

/// Decodes `inet` and `cidr`: family, prefix length, network flag, address length, address.
fn network(kind: &Type, raw: &[u8]) -> Result<Value, String> {
    let (Some(bits), Some(address)) = (raw.get(1), raw.get(4..)) else {
        return Err("the value is too short".to_owned());
    };
    let (address, all) = match address.len() {
        4 => (Ipv4Addr::from(fixed::<4>(address)?).to_string(), 32),
        _ => (Ipv6Addr::from(fixed::<16>(address)?).to_string(), 128),
    };
    let whole = *bits == all && *kind == Type::INET;
    Ok(if whole { json!(address) } else { json!(format!("{address}/{bits}")) })
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
        assert!(simple(&Type::POINT, &[]).unwrap_err().contains("`point`"));
    }
}
