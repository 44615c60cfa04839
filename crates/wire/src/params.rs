//! Arguments that are also sent as `Mcp-Param-*` headers: which ones a schema marks, how they are sent and checked.

use http::HeaderName;
use serde_json::Value;

use super::headers;
use proxy_json::{Object, ObjectError, RawRef, check_unique_keys};

/// An argument that a schema marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The keys that lead to the argument.
    pub path: Vec<String>,
    /// The part of the header name after `Mcp-Param-`.
    pub suffix: String,
}

impl ParamHeader {
    fn header(&self) -> String {
        format!("{}{}", headers::PARAM_PREFIX, self.suffix.to_ascii_lowercase())
    }
}

const MARK: &str = "x-mcp-header";
/// The keywords of a schema whose values are data, not schemas.
const DATA_KEYWORDS: [&str; 5] = ["default", "const", "enum", "examples", "example"];

/// The marked arguments of a tool's input schema; an error names the mark that is invalid and the reason.
pub fn marked(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    visit(schema, &mut Vec::new(), true, &mut found)?;
    Ok(found)
}

fn visit(schema: &Value, path: &mut Vec<String>, by_name: bool, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            if let Some(mark) = members.get(MARK) {
                found.push(accept(mark, members, path, by_name, found)?);
            }
            for (member, value) in members {
                match (member.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            path.push(name.clone());
                            visit(property, path, by_name, found)?;
                            path.pop();
                        }
                    }
                    (member, _) if DATA_KEYWORDS.contains(&member) || member == MARK => {}
                    (_, value) => visit(value, path, false, found)?,
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                visit(item, path, false, found)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn accept(
    mark: &Value,
    members: &serde_json::Map<String, Value>,
    path: &[String],
    by_name: bool,
    found: &[ParamHeader],
) -> Result<ParamHeader, String> {
    let argument = path.join(".");
    let suffix = mark.as_str().ok_or_else(|| format!("`{MARK}` of `{argument}` is not a string"))?;
    if suffix.is_empty() || !suffix.bytes().all(is_token_byte) {
        return Err(format!("`{MARK}` of `{argument}` is not a valid header name"));
    }
    if !by_name || path.is_empty() {
        return Err(format!("`{MARK}` `{suffix}` is not on a named property"));
    }
    if !matches!(members.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("`{MARK}` of `{argument}` is allowed only on a string, an integer or a boolean"));
    }
    if found.iter().any(|other| other.suffix.eq_ignore_ascii_case(suffix)) {
        return Err(format!("`{MARK}` `{suffix}` is used twice"));
    }
    Ok(ParamHeader { path: path.to_vec(), suffix: suffix.to_owned() })
}

/// Removes every mark from a schema.
pub fn unmark(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                match value {
                    Value::Object(properties) if name == "properties" => properties.values_mut().for_each(unmark),
                    value => unmark(value),
                }
            }
            members.shift_remove(MARK);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The argument at a path, unless it is `null`. Only the values on the path are parsed: others may be numbers or strings
/// that a parser cannot represent. A duplicate key on the path is an error: the server might find another argument than
/// the proxy.
fn lookup(arguments: Option<&RawRef>, path: &[String]) -> Result<Option<Value>, String> {
    let Some(mut raw) = arguments else { return Ok(None) };
    for key in path {
        let found = match Object::of(raw) {
            Ok(object) => object.get(key),
            Err(ObjectError::NotAnObject) => None,
            Err(error) => return Err(error.to_string()),
        };
        match found {
            Some(found) => raw = found,
            None => return Ok(None),
        }
    }
    let value: Value = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    Ok((!value.is_null()).then_some(value))
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The headers to send with these arguments.
pub fn to_send(marked: &[ParamHeader], arguments: Option<&RawRef>) -> Vec<(HeaderName, String)> {
    marked
        .iter()
        .filter_map(|param| {
            let text = as_text(&lookup(arguments, &param.path).ok()??)?;
            Some((HeaderName::try_from(param.header()).ok()?, headers::encode(&text)))
        })
        .collect()
}

/// Compares the headers of a request with its arguments; `values` returns all values of a header.
pub fn check<'h>(
    marked: &[ParamHeader],
    arguments: Option<&RawRef>,
    values: impl Fn(&str) -> Vec<&'h [u8]>,
) -> Result<(), String> {
    if let Some(arguments) = arguments.filter(|_| !marked.is_empty()) {
        check_unique_keys(arguments).map_err(|error| format!("`arguments`: {error}"))?;
    }
    for param in marked {
        let name = param.header();
        let header = format!("Mcp-Param-{}", param.suffix);
        let received = values(&name);
        let expected = lookup(arguments, &param.path)
            .map_err(|reason| format!("invalid argument `{}`: {reason}", param.path.join(".")))?;
        match (received.as_slice(), &expected) {
            ([], None) => {}
            ([], Some(_)) => return Err(format!("missing header `{header}`")),
            ([value], Some(expected)) => {
                let text = headers::decode(value).ok_or_else(|| format!("invalid base64 in the `{header}` header"))?;
                if !matches(&text, expected) {
                    return Err(format!(
                        "the `{header}` header does not match the argument `{}`",
                        param.path.join(".")
                    ));
                }
            }
            ([_], None) => return Err(format!("the `{header}` header has no matching argument")),
            _ => return Err(format!("duplicate header `{header}`")),
        }
    }
    Ok(())
}

fn matches(text: &str, expected: &Value) -> bool {
    match expected {
        Value::Number(number) => match (text.parse::<f64>(), number.to_string().parse::<f64>()) {
            // Beyond 2^53 an `f64` cannot represent every integer, so the texts must be equal.
            (Ok(left), Ok(right)) if right.abs() <= 9_007_199_254_740_991.0 => left == right,
            _ => text == number.to_string(),
        },
        other => as_text(other).as_deref() == Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_valid_marks_are_accepted() {
        let good = json!({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}});
        assert_eq!(marked(&good).unwrap().len(), 2);
        for bad in [
            json!({"properties":{"a":{"type":"number","x-mcp-header":"A"}}}),
            json!({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":""}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}),
            json!({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}),
        ] {
            assert!(marked(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_are_compared_with_the_arguments() {
        let schema = json!({"properties":{"n":{"type":"integer","x-mcp-header":"N"}}});
        let params = marked(&schema).unwrap();
        let with = |values: Vec<&'static [u8]>, arguments: Value| {
            check(&params, Some(&proxy_json::raw(&arguments)), |_| values.clone()).is_ok()
        };
        assert!(with(vec![b"42"], json!({"n": 42})));
        assert!(with(vec![b"42.0"], json!({"n": 42})));
        assert!(with(vec![], json!({"n": null})));
        assert!(!with(vec![], json!({"n": 42})));
        assert!(!with(vec![b"42"], json!({"n": null})));
        assert!(!with(vec![b"42", b"42"], json!({"n": 42})));
    }

    #[test]
    fn a_marked_argument_cannot_hide() {
        let schema = json!({"properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}});
        let params = marked(&schema).unwrap();
        for arguments in [
            r#"{"region":"a","region":"b"}"#,
            r#"{"region":"a","r\u0065gion":"b"}"#,
            r#"{"o":{"n":1,"n":2}}"#,
            r#"{"o":{"n":1},"o":{}}"#,
            r#"{"region":"\ud800"}"#,
            r#"{"o":{"n":1e400}}"#,
            r#"{"o":[],"other":{"x":1,"x":2}}"#,
        ] {
            let arguments = proxy_json::valid(arguments.to_owned()).unwrap();
            assert!(check(&params, Some(&arguments), |_| vec![]).is_err(), "{arguments}");
        }
        let elsewhere = proxy_json::valid(r#"{"o":[],"other":{"x":1},"more":{"x":2}}"#.to_owned()).unwrap();
        assert_eq!(check(&params, Some(&elsewhere), |_| vec![]), Ok(()));
    }

    #[test]
    fn unrepresentable_values_do_not_hide_other_arguments() {
        let schema =
            json!({"properties":{"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}});
        let params = marked(&schema).unwrap();
        let arguments =
            proxy_json::valid(r#"{"huge":1e400,"lone":"\ud800","o":{"n":42,"m":1e400}}"#.to_owned()).unwrap();
        let sent = to_send(&params, Some(&arguments));
        assert_eq!(sent, [(HeaderName::from_static("mcp-param-n"), "42".to_owned())]);
        assert!(check(&params, Some(&arguments), |_| vec![b"42"]).is_ok());
        assert!(check(&params, Some(&arguments), |_| vec![]).is_err());
    }
}
