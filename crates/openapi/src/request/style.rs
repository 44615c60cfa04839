//! Values as text in the styles of OpenAPI. Where a style does not say how a value is written, it is written as JSON.

use serde_json::Value;

use crate::operation::Style;

/// The text of a value that is not divided further.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value in the style `simple`, `label` or `matrix`.
pub(super) fn expanded(
    name: &str,
    value: &Value,
    style: Style,
    explode: bool,
    encode: &dyn Fn(&str) -> String,
) -> String {
    let items = |separator: &str| match value {
        Value::Array(items) => items.iter().map(|item| encode(&text(item))).collect::<Vec<_>>().join(separator),
        Value::Object(members) => {
            let between = if explode { "=" } else { "," };
            let members =
                members.iter().map(|(key, member)| format!("{}{between}{}", encode(key), encode(&text(member))));
            members.collect::<Vec<_>>().join(separator)
        }
        scalar => encode(&text(scalar)),
    };
    match style {
        Style::Label => format!(".{}", items(if explode { "." } else { "," })),
        Style::Matrix => {
            let name = encode(name);
            match value {
                Value::Array(values) if explode => {
                    values.iter().map(|item| format!(";{name}={}", encode(&text(item)))).collect()
                }
                Value::Object(_) if explode => format!(";{}", items(";")),
                _ => format!(";{name}={}", items(",")),
            }
        }
        _ => items(","),
    }
}

/// A value as pairs of a query or form: encoded, with `=` between name and value.
pub(super) fn pairs(
    name: &str,
    value: &Value,
    style: Style,
    explode: bool,
    encode: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let pair = |name: &str, value: &str| format!("{}={value}", super::percent::encoded(name));
    let separator = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    };
    match (value, style) {
        (Value::Object(_) | Value::Array(_), Style::DeepObject) => {
            let mut pairs = Vec::new();
            push_deep(name.to_owned(), value, encode, &mut pairs);
            pairs
        }
        (Value::Array(items), _) if items.is_empty() => Vec::new(),
        (Value::Object(members), _) if members.is_empty() => Vec::new(),
        (Value::Array(items), _) if explode => items.iter().map(|item| pair(name, &encode(&text(item)))).collect(),
        (Value::Object(members), _) if explode => {
            members.iter().map(|(key, member)| pair(key, &encode(&text(member)))).collect()
        }
        (Value::Array(items), _) => {
            let items = items.iter().map(|item| encode(&text(item)));
            vec![pair(name, &items.collect::<Vec<_>>().join(separator))]
        }
        (Value::Object(members), _) => {
            let items = members.iter().flat_map(|(key, member)| [encode(key), encode(&text(member))]);
            vec![pair(name, &items.collect::<Vec<_>>().join(separator))]
        }
        (scalar, _) => vec![pair(name, &encode(&text(scalar)))],
    }
}

/// `name[key][0]=value`, as Stripe, PHP and Rack read it.
fn push_deep(name: String, value: &Value, encode: &dyn Fn(&str) -> String, pairs: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                push_deep(format!("{name}[{key}]"), member, encode, pairs);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_deep(format!("{name}[{index}]"), item, encode, pairs);
            }
        }
        Value::Null => {}
        scalar => pairs.push(format!("{}={}", super::percent::encoded(&name), encode(&text(scalar)))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::percent::encoded;
    use super::*;

    /// The examples of the specification, section "Style Examples".
    #[test]
    fn values_are_written_as_the_specification_shows() {
        let array = json!(["blue", "black", "brown"]);
        let object = json!({"R": 100, "G": 200, "B": 150});
        let expanded = |value: &Value, style, explode| expanded("color", value, style, explode, &encoded);
        assert_eq!(expanded(&json!("blue"), Style::Matrix, false), ";color=blue");
        assert_eq!(expanded(&json!(""), Style::Matrix, false), ";color=");
        assert_eq!(expanded(&array, Style::Matrix, false), ";color=blue,black,brown");
        assert_eq!(expanded(&array, Style::Matrix, true), ";color=blue;color=black;color=brown");
        assert_eq!(expanded(&object, Style::Matrix, false), ";color=R,100,G,200,B,150");
        assert_eq!(expanded(&object, Style::Matrix, true), ";R=100;G=200;B=150");
        assert_eq!(expanded(&array, Style::Label, false), ".blue,black,brown");
        assert_eq!(expanded(&array, Style::Label, true), ".blue.black.brown");
        assert_eq!(expanded(&object, Style::Label, true), ".R=100.G=200.B=150");
        assert_eq!(expanded(&array, Style::Simple, true), "blue,black,brown");
        assert_eq!(expanded(&object, Style::Simple, false), "R,100,G,200,B,150");
        assert_eq!(expanded(&object, Style::Simple, true), "R=100,G=200,B=150");
        let pairs = |value: &Value, style, explode| pairs("color", value, style, explode, &encoded).join("&");
        assert_eq!(pairs(&json!(""), Style::Form, true), "color=");
        assert_eq!(pairs(&array, Style::Form, true), "color=blue&color=black&color=brown");
        assert_eq!(pairs(&array, Style::Form, false), "color=blue,black,brown");
        assert_eq!(pairs(&object, Style::Form, true), "R=100&G=200&B=150");
        assert_eq!(pairs(&object, Style::Form, false), "color=R,100,G,200,B,150");
        assert_eq!(pairs(&array, Style::SpaceDelimited, false), "color=blue%20black%20brown");
        assert_eq!(pairs(&array, Style::PipeDelimited, false), "color=blue%7Cblack%7Cbrown");
        assert_eq!(pairs(&object, Style::PipeDelimited, false), "color=R%7C100%7CG%7C200%7CB%7C150");
        assert_eq!(pairs(&object, Style::DeepObject, true), "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150");
    }

    #[test]
    fn a_value_cannot_pass_for_a_separator() {
        let value = json!(["a,b", "c&d=e", "ä b"]);
        assert_eq!(pairs("k[]", &value, Style::Form, false, &encoded), ["k%5B%5D=a%2Cb,c%26d%3De,%C3%A4%20b"]);
        let nested = json!({"a": [{"b": "x y"}, 1.5, null], "c": {}});
        let deep = pairs("m", &nested, Style::DeepObject, true, &encoded);
        assert_eq!(deep, ["m%5Ba%5D%5B0%5D%5Bb%5D=x%20y", "m%5Ba%5D%5B1%5D=1.5"]);
        assert_eq!(pairs("n", &json!([{"a": 1}]), Style::Form, true, &encoded), ["n=%7B%22a%22%3A1%7D"]);
        assert_eq!(pairs("n", &json!([]), Style::Form, true, &encoded), [""; 0]);
    }
}
