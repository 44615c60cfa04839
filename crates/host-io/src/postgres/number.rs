//! Decodes numbers of any size and scale.

use serde_json::Value;

use super::column::ByteReader;

/// A JSON number, or a string for values that JSON does not have (`NaN`, infinity).
pub(super) fn shortest(digits: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(digits).map_or_else(|_| digits.into(), Value::Number)
}

/// Decodes `numeric`: base-10000 digits, weight of the first digit, sign, and number of decimals.
pub(super) fn numeric(raw: &[u8]) -> Result<Value, String> {
    let mut reader = ByteReader(raw);
    let (count, weight) = (reader.short()?, reader.short()?);
    let (sign, scale) = (reader.short()?.cast_unsigned(), reader.short()?);
    match sign {
        0xc000 => return Ok("NaN".into()),
        0xd000 => return Ok("Infinity".into()),
        0xf000 => return Ok("-Infinity".into()),
        _ => {}
    }
    let groups: Vec<i16> = (0..count).map(|_| reader.short()).collect::<Result<_, _>>()?;
    let group = |position: i16| {
        let index = usize::try_from(weight - position).ok();
        index.and_then(|index| groups.get(index)).copied().unwrap_or(0)
    };
    let mut digits = String::new();
    for position in (0..=weight.max(0)).rev() {
        digits.push_str(&format!("{:04}", group(position)));
    }
    let whole = digits.trim_start_matches('0');
    let mut text = if whole.is_empty() { "0".to_owned() } else { whole.to_owned() };
    if let Ok(scale @ 1..) = usize::try_from(scale) {
        let decimals: String = (1..=scale.div_ceil(4)).map(|index| format!("{:04}", group(-(index as i16)))).collect();
        text = format!("{text}.{}", &decimals[..scale]);
    }
    let text = if sign == 0x4000 { format!("-{text}") } else { text };
    Ok(shortest(&text))
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
