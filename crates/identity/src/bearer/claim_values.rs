//! The values of claims.

use serde_json::{Map, Value};

/// The claims of a token, or of the answer about one.
pub(super) type Claims = Map<String, Value>;

/// A claim by its name, or else by a path such as `realm_access.roles`. Null counts as absent.
pub(super) fn find<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    let found = match claims.get(name) {
        Some(value) => Some(value),
        None => {
            let mut steps = name.split('.');
            let first = claims.get(steps.next()?)?;
            steps.try_fold(first, |value, step| value.get(step))
        }
    };
    found.filter(|value| !value.is_null())
}

/// The texts of a claim that is one text or a list of texts; `None` if it is something else.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The seconds of a time. Some issuers send fractions.
pub(super) fn seconds(value: &Value) -> Option<u64> {
    /// The end of the year 9999. Later times cannot be computed with.
    const LATEST: u64 = 253_402_300_799;
    let fraction = || value.as_f64().filter(|time| *time >= 0.0 && *time < 1e15).map(|time| time as u64);
    value.as_u64().or_else(fraction).filter(|time| *time <= LATEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_that_nobody_can_compute_with_is_none() {
        assert_eq!(seconds(&json!(1.5)), Some(1));
        for time in [json!(u64::MAX), json!(i64::MAX), json!(1e300), json!(-1), json!("1")] {
            assert_eq!(seconds(&time), None, "{time}");
        }
    }

    #[test]
    fn a_name_is_taken_as_it_is_before_it_is_a_path() {
        let Value::Object(claims) =
            json!({"a.b": 1, "a": {"b": 2, "c": {"d": 3}}, "https://x.example/groups": ["g"], "n": null})
        else {
            panic!("no object")
        };
        assert_eq!(find(&claims, "a.b"), Some(&json!(1)));
        assert_eq!(find(&claims, "a.c.d"), Some(&json!(3)));
        assert_eq!(find(&claims, "https://x.example/groups"), Some(&json!(["g"])));
        for name in ["a.x", "x", "a.c.d.e", "n", ""] {
            assert_eq!(find(&claims, name), None, "{name}");
        }
    }

    #[test]
    fn values_of_another_kind_are_none() {
        assert_eq!(texts(&json!("a")), Some(vec!["a".to_owned()]));
        assert_eq!(texts(&json!(["a", 1])), None);
        assert_eq!(texts(&json!({})), None);
        assert_eq!(
            (seconds(&json!(7)), seconds(&json!(7.9)), seconds(&json!("7")), seconds(&json!(-1))),
            (Some(7), Some(7), None, None)
        );
    }
}
