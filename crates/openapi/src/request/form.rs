//! Bodies of the type `application/x-www-form-urlencoded`.

use serde_json::Value;

use super::percent::{encoded, encoded_where_needed};
use super::style::{pairs, text};
use crate::operation::{Field, Style};

/// The pairs of one member.
pub(super) fn member(name: &str, value: &Value, field: Option<&Field>) -> Vec<String> {
    let allow_reserved = field.is_some_and(|field| field.allow_reserved);
    let encode = |text: &str| if allow_reserved { encoded_where_needed(text) } else { encoded(text) };
    match (field.and_then(|field| field.style), value) {
        (_, Value::Null) => Vec::new(),
        (Some(style), value) => pairs(name, value, style, field.is_some_and(|field| field.explode), &encode),
        // Without a style, an object is JSON, and the items of a list are members of one name.
        (None, Value::Array(_)) => pairs(name, value, Style::Form, true, &encode),
        (None, other) => vec![format!("{}={}", encoded(name), encode(&text(other)))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_written_in_their_style() {
        let deep = Field { style: Some(Style::DeepObject), explode: true, ..Field::default() };
        assert_eq!(member("metadata", &json!({"k": "v"}), Some(&deep)), ["metadata%5Bk%5D=v"]);
        assert_eq!(member("metadata", &json!({"k": "v"}), None), ["metadata=%7B%22k%22%3A%22v%22%7D"]);
        assert_eq!(member("expand", &json!(["a", "b"]), None), ["expand=a", "expand=b"]);
        assert_eq!(member("email", &json!(""), Some(&deep)), ["email="], "an empty value unsets");
        assert_eq!(member("n", &json!(null), None), [""; 0]);
    }
}
