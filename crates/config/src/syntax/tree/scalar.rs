//! Resolution of plain YAML scalars by the core schema of YAML 1.2, in which `no` and `on` are strings.

use super::Value;

pub(in crate::syntax) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::String(text.to_owned()),
    }
}

/// Whether this is a decimal number. Hexadecimal and octal numbers stay strings, because no key takes them and their
/// spelling is preserved.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    !(whole.is_empty() && fraction.is_empty()) && digits(whole) && digits(fraction) && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_words_and_numbers_are_numbers() {
        for number in ["0", "-12", "1.5", ".5", "1e3", "+7", "1."] {
            assert_eq!(plain(number), Value::Number(number.to_owned()));
        }
        for word in ["no", "on", "30s", "1.2.3", "2025-11-25", "0x1f", "-", "-y", ".", "e3", "1e"] {
            assert_eq!(plain(word), Value::String(word.to_owned()), "{word}");
        }
    }
}
