//! JSON as values of Cedar, in two forms: ToolHive's flat attributes with a prefix, and whole records.

use std::collections::HashMap;

use cedar_policy::RestrictedExpression;
use serde_json::{Map, Number, Value};

/// Values nested deeper than this are left out.
const MAX_DEPTH: usize = 10;
/// The largest whole number that a decimal holds.
const MAX_WHOLE_DECIMAL: i64 = i64::MAX / 10_000;

pub(super) type Attributes = HashMap<String, RestrictedExpression>;

/// Attributes, and whether a value had to be left out because Cedar cannot hold it.
#[derive(Default)]
pub(super) struct Converted {
    pub(super) attributes: Attributes,
    pub(super) is_incomplete: bool,
}

/// ToolHive's form of arguments: texts, booleans and numbers as `arg_NAME`, with every number as a decimal; of anything
/// else only `arg_NAME_present`.
pub(super) fn flat_arguments(arguments: &Map<String, Value>) -> Converted {
    let (mut converted, mut marks) = (Converted::default(), Vec::new());
    for (name, value) in arguments {
        let flat = match value {
            Value::String(text) => Some(text_value(text)),
            Value::Bool(flag) => Some(RestrictedExpression::new_bool(*flag)),
            Value::Number(number) => decimal(number),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                marks.push(format!("arg_{name}_present"));
                continue;
            }
        };
        match flat {
            Some(flat) => drop(converted.attributes.insert(format!("arg_{name}"), flat)),
            None => converted.is_incomplete = true,
        }
    }
    for mark in marks {
        // An argument of that name would say the opposite.
        converted.is_incomplete |= converted.attributes.contains_key(&mark);
        converted.attributes.insert(mark, RestrictedExpression::new_bool(true));
    }
    converted
}

/// ToolHive's form of claims: `claim_NAME`, with arrays as sets, objects as records and every number as a decimal.
pub(super) fn flat_claims(claims: &Map<String, Value>) -> Attributes {
    let convert = |(name, value): (&String, &Value)| Some((format!("claim_{name}"), converted(value, decimal, 0)?));
    claims.iter().filter_map(convert).collect()
}

/// A whole record: integers as `Long`, other numbers as decimals, `null` left out.
pub(super) fn record(values: &Map<String, Value>) -> Converted {
    let mut attributes = Attributes::new();
    let mut is_incomplete = false;
    for (name, value) in values {
        match converted(value, number, 0) {
            Some(value) => drop(attributes.insert(name.clone(), value)),
            None => is_incomplete |= !value.is_null(),
        }
    }
    Converted { attributes, is_incomplete }
}

/// A value; `None` if it, or something in it other than `null`, cannot be expressed.
fn converted(
    value: &Value,
    number: fn(&Number) -> Option<RestrictedExpression>,
    depth: usize,
) -> Option<RestrictedExpression> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(RestrictedExpression::new_bool(*flag)),
        Value::Number(value) => number(value),
        Value::String(text) => Some(text_value(text)),
        Value::Array(items) => {
            let items: Option<Vec<_>> = present(items.iter()).map(|item| converted(item, number, depth + 1)).collect();
            Some(RestrictedExpression::new_set(items?))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members: Option<Vec<_>> =
                members.map(|(name, value)| Some((name.clone(), converted(value, number, depth + 1)?))).collect();
            RestrictedExpression::new_record(members?).ok()
        }
    }
}

fn present<'a>(items: impl Iterator<Item = &'a Value>) -> impl Iterator<Item = &'a Value> {
    items.filter(|item| !item.is_null())
}

pub(super) fn text_value(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

/// A set of texts.
pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> RestrictedExpression {
    RestrictedExpression::new_set(texts.into_iter().map(|text| text_value(text)))
}

fn number(number: &Number) -> Option<RestrictedExpression> {
    match whole(number) {
        Some(whole) => Some(RestrictedExpression::new_long(whole)),
        None => decimal(number),
    }
}

/// The number as a decimal; `None` if it has more than four decimal places or is too large.
fn decimal(number: &Number) -> Option<RestrictedExpression> {
    if let Some(whole) = whole(number) {
        let fits = (-MAX_WHOLE_DECIMAL..=MAX_WHOLE_DECIMAL).contains(&whole);
        return fits.then(|| RestrictedExpression::new_decimal(format!("{whole}.0")));
    }
    let value = number.as_f64().filter(|value| value.is_finite())?;
    if value.abs() > 9.0e14 {
        return None;
    }
    let text = format!("{value:.4}");
    (text.parse() == Ok(value)).then(|| RestrictedExpression::new_decimal(text))
}

/// The number, if it is an integer that a `Long` holds. `5.0` and `5e0` are the integer that most servers read.
fn whole(number: &Number) -> Option<i64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let written_otherwise = || {
        let value = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() <= MAX_EXACT)?;
        format!("{value:.0}").parse().ok()
    };
    number.as_i64().or_else(written_otherwise)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(converted: &Converted) -> Vec<String> {
        let mut shown: Vec<String> =
            converted.attributes.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        shown.sort();
        shown.iter().map(|text| text.split('=').next().unwrap_or_default().to_owned()).collect()
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn flat_arguments_hold_simple_values_and_name_the_others() {
        let converted = flat_arguments(&map(json!({"a": "x", "b": 1, "c": [1], "d": null, "e": 0.5})));
        assert_eq!(shown(&converted), ["arg_a", "arg_b", "arg_c_present", "arg_d_present", "arg_e"]);
        assert!(!converted.is_incomplete);
    }

    #[test]
    fn a_number_that_cedar_cannot_hold_is_noticed() {
        for text in ["1e400", "0.00001", "99999999999999999999", "1e30", "150.00001"] {
            let value: Value = serde_json::from_str(&format!("{{\"n\": {text}}}")).unwrap();
            assert!(flat_arguments(&map(value.clone())).is_incomplete, "{text}");
            assert!(record(&map(value)).is_incomplete, "{text}");
        }
        let large = map(json!({"n": 922_337_203_685_478_i64}));
        assert!(flat_arguments(&large).is_incomplete);
        assert!(!record(&large).is_incomplete);
        assert!(!record(&map(json!({"n": null}))).is_incomplete);
        assert!(record(&map(json!({"n": {"m": [0.123456]}}))).is_incomplete);
    }

    #[test]
    fn an_integer_is_one_however_it_is_written() {
        let long = |text: &str| {
            let value: Value = serde_json::from_str(&format!("{{\"n\": {text}}}")).unwrap();
            format!("{:?}", record(&map(value)).attributes["n"])
        };
        for text in ["42.0", "4.2e1", "420e-1"] {
            assert_eq!(long(text), long("42"), "{text}");
        }
        assert_ne!(long("42.5"), long("42"));
    }

    #[test]
    fn an_argument_cannot_pass_for_the_mark_of_another() {
        for names in [["bcc", "bcc_present"], ["bcc_present", "bcc"]] {
            let mut arguments = Map::new();
            for name in names {
                arguments.insert(name.to_owned(), if name == "bcc" { json!(["x"]) } else { json!(false) });
            }
            assert!(flat_arguments(&arguments).is_incomplete);
        }
    }
}
