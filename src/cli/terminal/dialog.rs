//! An elicitation on the terminal: first yes, no or cancel, then the fields of its form.

use std::io::{BufRead, Write};

use serde_json::{Map, Value, json};

use proxy_base::foreign_text::visible;
use proxy_json::Schema;

pub(super) struct Dialog<R, W> {
    pub(super) input: R,
    pub(super) output: W,
}

impl<R: BufRead, W: Write> Dialog<R, W> {
    /// Asks the user and returns an elicitation result. The end of the input cancels the elicitation.
    pub(super) fn answer(&mut self, message: &str, form: &Value) -> Value {
        self.ask(message, form).unwrap_or_else(|| json!({"action": "cancel"}))
    }

    fn ask(&mut self, message: &str, form: &Value) -> Option<Value> {
        self.say(message);
        loop {
            match self.line("yes, no or cancel: ")?.to_lowercase().as_str() {
                "y" | "yes" => break,
                "n" | "no" => return Some(json!({"action": "decline"})),
                "c" | "cancel" => return None,
                _ => {}
            }
        }
        let required = form["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut content = Map::new();
        for (name, field) in form["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|other| other == name);
            if let Some(value) = self.field(name, field, is_required)? {
                content.insert(name.clone(), value);
            }
        }
        Some(json!({"action": "accept", "content": content}))
    }

    /// Asks for a field until its value is valid. `Some(None)` is an omitted field, `None` the end of the input.
    fn field(&mut self, name: &str, field: &Value, is_required: bool) -> Option<Option<Value>> {
        if let Some(description) = field["description"].as_str() {
            self.say(&format!("  {description}"));
        }
        let label = field["title"].as_str().unwrap_or(name);
        let default = field.get("default");
        let shown = match default {
            Some(default) => format!(" [{}]", format_value(default)),
            None if is_required => String::new(),
            None => " [none]".to_owned(),
        };
        let prompt = format!("  {label} ({}){shown}: ", kind(field));
        loop {
            let line = self.line(&prompt)?;
            let value = match (line.is_empty(), default) {
                (true, Some(default)) => default.clone(),
                (true, None) if !is_required => return Some(None),
                (true, None) => continue,
                (false, _) => parse(&line, field),
            };
            match check(name, field, &value) {
                Ok(()) => return Some(Some(value)),
                Err(reason) => self.say(&format!("  {reason}")),
            }
        }
    }

    fn line(&mut self, prompt: &str) -> Option<String> {
        let _ = write!(self.output, "{}", visible(prompt));
        let _ = self.output.flush();
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(count) if count > 0 => Some(line.trim().to_owned()),
            _ => {
                let _ = writeln!(self.output);
                None
            }
        }
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.output, "{}", visible(text));
    }
}

/// Describes the values that a field accepts.
fn kind(field: &Value) -> String {
    if let Some(choices) = choices(field) {
        return choices.join(", ");
    }
    match field["type"].as_str() {
        Some("boolean") => "yes or no".to_owned(),
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("array") => {
            let choices = choices(&field["items"]).unwrap_or_default();
            format!("some of {}, separated by commas", choices.join(", "))
        }
        _ => field["format"].as_str().unwrap_or("text").to_owned(),
    }
}

fn choices(field: &Value) -> Option<Vec<String>> {
    if let Some(values) = field["enum"].as_array() {
        return Some(values.iter().map(format_value).collect());
    }
    let named = field["oneOf"].as_array().or_else(|| field["anyOf"].as_array())?;
    let choice = |one: &Value| match one["title"].as_str() {
        Some(title) => format!("{} ({title})", format_value(&one["const"])),
        None => format_value(&one["const"]),
    };
    Some(named.iter().map(choice).collect())
}

/// Parses a line by the type of the field. A line that cannot be parsed stays text and fails the check.
fn parse(line: &str, field: &Value) -> Value {
    match field["type"].as_str() {
        Some("boolean") => match line.to_lowercase().as_str() {
            "y" | "yes" | "true" => Value::Bool(true),
            "n" | "no" | "false" => Value::Bool(false),
            _ => line.into(),
        },
        Some("integer" | "number") => {
            serde_json::from_str::<serde_json::Number>(line).map_or_else(|_| line.into(), Value::Number)
        }
        Some("array") => line.split(',').map(|item| Value::from(item.trim())).collect(),
        _ => line.into(),
    }
}

fn check(name: &str, field: &Value, value: &Value) -> Result<(), String> {
    let form = json!({"type": "object", "properties": {name: field}});
    // An invalid schema checks nothing here; the server or script checks the answer.
    let Ok(schema) = Schema::compile(&form) else { return Ok(()) };
    schema.check(&json!({name: value})).map_err(|mismatch| mismatch.to_string())
}

/// Formats a value as the user would type it.
fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_with(form: &Value, lines: &str) -> (Value, String) {
        let mut dialog = Dialog { input: lines.as_bytes(), output: Vec::new() };
        let answer = dialog.answer("Sure?", form);
        (answer, String::from_utf8(dialog.output).unwrap())
    }

    #[test]
    fn a_question_without_fields_is_answered_with_a_word() {
        let form = json!({"type": "object", "properties": {}});
        let accept = json!({"action": "accept", "content": {}});
        for (lines, expected) in [
            ("y\n", accept.clone()),
            ("what?\n\nYES\n", accept),
            ("no\n", json!({"action": "decline"})),
            ("c\n", json!({"action": "cancel"})),
            ("", json!({"action": "cancel"})),
        ] {
            assert_eq!(answer_with(&form, lines).0, expected, "{lines:?}");
        }
    }

    #[test]
    fn fields_are_read_by_their_type_with_defaults() {
        let form = json!({"type": "object", "properties": {
            "why": {"type": "string", "description": "For the record.", "minLength": 3},
            "count": {"type": "integer", "minimum": 1, "default": 2},
            "share": {"type": "number"},
            "sure": {"type": "boolean", "default": false},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            "more": {"type": "string", "title": "Anything else"},
        }, "required": ["why", "share"]});
        let (answer, shown) = answer_with(&form, "y\n\nno\nbecause\n\n0.5\nyes\nl\nmon, tue\n\n");
        let content =
            json!({"why": "because", "count": 2, "share": 0.5, "sure": true, "size": "l", "days": ["mon", "tue"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
        for part in [
            "  For the record.\n  why (text): ",
            "count (whole number) [2]: ",
            "sure (yes or no) [no]: ",
            "size (s (Small), l (Large)) [none]: ",
            "days (some of mon, tue, separated by commas) [none]: ",
            "Anything else (text) [none]: ",
        ] {
            assert!(shown.contains(part), "{part} is not in\n{shown}");
        }
        assert!(shown.matches("why (text): ").count() == 3, "neither nothing nor too little is taken:\n{shown}");
    }

    #[test]
    fn invalid_values_are_asked_for_again_and_the_end_of_the_input_cancels() {
        let form = json!({"type": "object", "properties": {
            "size": {"type": "string", "enum": ["small", "large"]},
            "count": {"type": "integer", "maximum": 3},
        }, "required": ["size", "count"]});
        let (answer, shown) = answer_with(&form, "y\nmedium\nlarge\nmany\n7\n3\n");
        assert_eq!(answer["content"], json!({"size": "large", "count": 3}), "{shown}");
        assert_eq!(shown.matches("count (whole number): ").count(), 3, "{shown}");
        assert_eq!(answer_with(&form, "y\nlarge\n").0, json!({"action": "cancel"}));
    }

    #[test]
    fn control_characters_of_a_question_do_not_reach_the_terminal() {
        let mut dialog = Dialog { input: "n\n".as_bytes(), output: Vec::new() };
        dialog.answer("\u{1b}[2JSure?\u{7}", &json!({}));
        assert_eq!(String::from_utf8(dialog.output).unwrap(), "\\u{1b}[2JSure?\\u{7}\nyes, no or cancel: ");
    }
}
