//! JSON as a Starlark expression.

use serde_json::Value;

use proxy_base::foreign_text::visible;

/// A value that is longer is written over several lines.
const MAX_LINE: usize = 110;

/// A string literal. Invisible characters are written as escapes.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            _ if letter.is_control() || visible(letter.encode_utf8(&mut [0; 4])) != letter.to_string() => {
                literal.push_str(&format!("\\U{:08x}", u32::from(letter)));
            }
            _ => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

/// A value. `indent` is that of the line on which it starts, in spaces.
pub(super) fn value(value: &Value, indent: usize) -> String {
    let short = on_one_line(value);
    if short.len() + indent <= MAX_LINE {
        return short;
    }
    let inner = indent + 4;
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|item| self::value(item, inner)).collect()),
        Value::Object(members) => {
            let member = |(name, item): (&String, &Value)| format!("{}: {}", string(name), self::value(item, inner));
            ('{', '}', members.iter().map(member).collect())
        }
        _ => return short,
    };
    let margin = " ".repeat(inner);
    let lines: String = items.iter().map(|item| format!("{margin}{item},\n")).collect();
    format!("{open}\n{lines}{}{close}", " ".repeat(indent))
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => format!("[{}]", items.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, item)| format!("{}: {}", string(name), on_one_line(item)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_starlark_and_hide_nothing() {
        let all = json!({"a": [true, false, null, -1.5], "b": "x\"\\\n\u{1b}\u{202e}é"});
        assert_eq!(value(&all, 0), r#"{"a": [True, False, None, -1.5], "b": "x\"\\\n\U0000001b\U0000202eé"}"#);
        let long = json!({"a": "x".repeat(120)});
        assert_eq!(value(&long, 4), format!("{{\n        \"a\": \"{}\",\n    }}", "x".repeat(120)));
    }
}
