//! The path of a request. A value fills its place and cannot lead to another path.

use serde_json::Value;

use super::percent::{encoded, encoded_literal};
use super::style::{expanded, text};
use crate::operation::{PathTemplate, Piece, Style};

/// A value for a variable of a path.
pub(super) struct PathValue<'a> {
    pub(super) argument: &'a str,
    pub(super) name: &'a str,
    pub(super) value: Value,
    pub(super) style: Style,
    pub(super) explode: bool,
    pub(super) is_json: bool,
}

pub(super) fn path(template: &PathTemplate, values: &[PathValue<'_>]) -> Result<String, String> {
    let mut path = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Text(text) => path.push_str(&encoded_literal(text)),
            Piece::Variable(name) => {
                let value = values.iter().find(|value| value.name == name);
                let value = value.ok_or_else(|| format!("missing argument `{name}`"))?;
                path.push_str(&segment(value)?);
            }
        }
    }
    // Values side by side, or beside a dot of the description.
    if path.split('/').any(|segment| segment == "." || segment == "..") {
        return Err("these arguments would make `..` of a part of the path, which names another path".to_owned());
    }
    Ok(path)
}

fn segment(value: &PathValue<'_>) -> Result<String, String> {
    let argument = value.argument;
    let mut texts = Vec::new();
    collect_texts(&value.value, &mut texts);
    if texts.iter().all(String::is_empty) {
        return Err(format!("the argument `{argument}` is a part of the path and must not be empty"));
    }
    for text in &texts {
        if text.split(['/', '\\']).any(|part| part == ".." || part == ".") {
            return Err(format!(
                "the argument `{argument}` must not contain `.` or `..` as a part of a path: it would name another path"
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(format!(
                "the argument `{argument}` is a part of the path and must not contain control characters"
            ));
        }
    }
    if value.is_json {
        return Ok(encoded(&value.value.to_string()));
    }
    Ok(expanded(value.name, &value.value, value.style, value.explode, &encoded))
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => {
            for (key, member) in members {
                texts.push(key.clone());
                collect_texts(member, texts);
            }
        }
        Value::Null => {}
        scalar => texts.push(text(scalar)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(template: &str, value: Value) -> Result<String, String> {
        let value = |name| PathValue {
            argument: name,
            name,
            value: value.clone(),
            style: Style::Simple,
            explode: false,
            is_json: false,
        };
        path(&PathTemplate::parse(template), &[value("a"), value("b")])
    }

    #[test]
    fn a_value_is_one_segment() {
        assert_eq!(filled("/x/{a}/y", json!("feature/one")).unwrap(), "/x/feature%2Fone/y");
        assert_eq!(filled("/x/{a}", json!("ä ?#%2e;")).unwrap(), "/x/%C3%A4%20%3F%23%252e%3B");
        assert_eq!(filled("/x/{a}", json!(1.10)).unwrap(), "/x/1.1");
        assert_eq!(filled("/x/{a}", json!("..a")).unwrap(), "/x/..a");
        assert_eq!(filled("/x y/{a}:run", json!(true)).unwrap(), "/x%20y/true:run");
    }

    #[test]
    fn no_value_leads_to_another_path() {
        for value in ["..", ".", "../admin", "a/../../b", "..\\admin", "", "a\nb", "a\0"] {
            assert!(filled("/x/{a}", json!(value)).is_err(), "{value:?}");
        }
        for value in [json!(null), json!([]), json!(["a", ".."]), json!({"..": 1}), json!([""])] {
            assert!(filled("/x/{a}", value.clone()).is_err(), "{value}");
        }
        let error = filled("/x/{c}", json!("v")).unwrap_err();
        assert_eq!(error, "missing argument `c`");
        let dot = |style, value: &str| {
            let value =
                PathValue { argument: "a", name: "a", value: json!(value), style, explode: false, is_json: false };
            path(&PathTemplate::parse("/x/.{a}"), &[value])
        };
        assert!(dot(Style::Simple, "b").is_ok());
        assert!(dot(Style::Label, "").is_err());
    }
}
