//! The canonical text of a value: sorted keys, no white space, one spelling per number. It is for digests only; messages
//! are never re-encoded.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical text of a value: equal values have equal texts, whatever the order of their keys, and `1.0` equals `1`.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The SHA-256 of the canonical text, in hexadecimal.
pub fn digest(value: &Value) -> String {
    super::hex(&Sha256::digest(canonical(value).as_bytes()))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => out.push_str(&canonical_number(&number.to_string())),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|left, right| left.0.cmp(right.0));
            out.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&super::quote(key));
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Integers keep their digits. Other numbers take the shortest spelling of their `f64`, or stay as they are if they have
/// none.
fn canonical_number(number: &str) -> String {
    if !number.contains(['.', 'e', 'E']) {
        return if number == "-0" { "0".to_owned() } else { number.to_owned() };
    }
    match number.parse::<f64>() {
        Ok(float) if float.is_finite() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{}", float as i64),
        Ok(float) if float.is_finite() => format!("{float:?}"),
        _ => number.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_keys_and_spelling_of_numbers_do_not_matter() {
        let left: Value = serde_json::from_str(r#"{"b":1.0,"a":[1e2,{"z":1,"y":2}]}"#).unwrap();
        let right: Value = serde_json::from_str(r#"{"a":[100,{"y":2,"z":1}],"b":1}"#).unwrap();
        assert_eq!(canonical(&left), canonical(&right));
        assert_eq!(digest(&left), digest(&right));
    }

    #[test]
    fn big_integers_stay_apart() {
        let left: Value = serde_json::from_str("9007199254740993").unwrap();
        let right: Value = serde_json::from_str("9007199254740992").unwrap();
        assert_ne!(digest(&left), digest(&right));
    }
}
