//! Decodes numbers of any size and scale.

use bytes::Buf;
use serde_json::Value;

use super::column::Decoded;

/// A JSON number, or a string for values that JSON does not have (`NaN`, infinity).
pub(super) fn shortest(digits: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(digits).map_or_else(|_| digits.into(), Value::Number)
}

/// Decodes `numeric`: base-10000 digits, weight of the first digit, sign, and number of decimals. Decimal types of other
/// crates have fewer digits.
pub(super) fn numeric(mut raw: &[u8]) -> Decoded<Value> {
    let count = raw.try_get_u16()?;
    let weight = raw.try_get_i16()?;
    let sign = match raw.try_get_u16()? {
        0x4000 => "-",
        0xc000 => return Ok("NaN".into()),
        0xd000 => return Ok("Infinity".into()),
        0xf000 => return Ok("-Infinity".into()),
        _ => "",
    };
    let scale = usize::from(raw.try_get_u16()?);
    // The server leaves out zeros at both ends.
    let mut digits = "0000".repeat(usize::try_from(-1 - i32::from(weight)).unwrap_or(0));
    for _ in 0..count {
        digits.push_str(&format!("{:04}", raw.try_get_u16()?));
    }
    let point = 4 * usize::try_from(i32::from(weight) + 1).unwrap_or(0);
    digits.push_str(&"0".repeat((point + scale).saturating_sub(digits.len())));
    let whole = digits[..point].trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let decimals = &digits[point..point + scale];
    let mark = if scale > 0 { "." } else { "" };
    Ok(shortest(&format!("{sign}{whole}{mark}{decimals}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(weight: i16, sign: u16, scale: i16, groups: &[i16]) -> Vec<u8> {
        let head = [groups.len() as i16, weight, sign.cast_signed(), scale];
        head.iter().chain(groups).flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn numeric_keeps_every_digit() {
        for (weight, sign, scale, groups, expected) in [
            (0, 0, 0, &[][..], "0"),
            (0, 0, 2, &[12, 5000][..], "12.50"),
            (0, 0x4000, 1, &[1, 2000][..], "-1.2"),
            (1, 0, 0, &[1][..], "10000"),
            (2, 0, 0, &[1, 2, 3][..], "100020003"),
            (-1, 0, 4, &[5][..], "0.0005"),
            (-2, 0, 6, &[1200][..], "0.000012"),
            (5, 0, 0, &[12, 3456, 7890, 1234, 5678, 9012][..], "1234567890123456789012"),
        ] {
            assert_eq!(numeric(&raw(weight, sign, scale, groups)).unwrap().to_string(), expected);
        }
        assert_eq!(numeric(&raw(0, 0xc000, 0, &[])).unwrap(), "NaN");
        assert_eq!(shortest("inf"), "inf");
    }
}
