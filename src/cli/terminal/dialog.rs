//! One question, line by line: yes, no or neither, and then the fields of its form.

use std::io::{BufRead, Write};

use serde_json::{Map, Value, json};

use crate::json::Schema;

pub(super) struct Dialog<R, W> {
    pub(super) input: R,
    pub(super) output: W,
}

impl<R: BufRead, W: Write> Dialog<R, W> {
    /// The answer as the protocol has it. The end of the input puts the question away.
    pub(super) fn answer(&mut self, message: &str, form: &Value) -> Value {
        self.asked(message, form).unwrap_or_else(|| json!({"action": "cancel"}))
    }

    fn asked(&mut self, message: &str, form: &Value) -> Option<Value> {
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
            let needed = required.iter().any(|wanted| wanted == name);
            if let Some(value) = self.field(name, field, needed)? {
                content.insert(name.clone(), value);
            }
        }
        Some(json!({"action": "accept", "content": content}))
    }

    /// Nothing for a field that is left out; none at the end of the input.
    fn field(&mut self, name: &str, field: &Value, needed: bool) -> Option<Option<Value>> {
        if let Some(description) = field["description"].as_str() {
            self.say(&format!("  {description}"));
        }
        let label = field["title"].as_str().unwrap_or(name);
        let default = field.get("default");
        let shown = match default {
            Some(default) => format!(" [{}]", written(default)),
            None if needed => String::new(),
            None => " [none]".to_owned(),
        };
        let prompt = format!("  {label} ({}){shown}: ", kind(field));
        loop {
            let line = self.line(&prompt)?;
            let value = match (line.is_empty(), default) {
                (true, Some(default)) => default.clone(),
                (true, None) if !needed => return Some(None),
                (true, None) => continue,
                (false, _) => meant(&line, field),
            };
            match fits(name, field, &value) {
                Ok(()) => return Some(Some(value)),
                Err(reason) => self.say(&format!("  {reason}")),
            }
        }
    }

    fn line(&mut self, prompt: &str) -> Option<String> {
        let _ = write!(self.output, "{}", harmless(prompt));
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
        let _ = writeln!(self.output, "{}", harmless(text));
    }
}

/// What others wrote, fit for a terminal.
fn harmless(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || *letter == '\n').collect()
}

/// What can be said to a field, in words.
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
            format!("some of {}, with commas between", choices.join(", "))
        }
        _ => field["format"].as_str().unwrap_or("text").to_owned(),
    }
}

fn choices(field: &Value) -> Option<Vec<String>> {
    if let Some(values) = field["enum"].as_array() {
        return Some(values.iter().map(written).collect());
    }
    let named = field["oneOf"].as_array().or_else(|| field["anyOf"].as_array())?;
    let choice = |one: &Value| match one["title"].as_str() {
        Some(title) => format!("{} ({title})", written(&one["const"])),
        None => written(&one["const"]),
    };
    Some(named.iter().map(choice).collect())
}

/// The value that a line stands for; what is no such value stays text, and does not fit.
fn meant(line: &str, field: &Value) -> Value {
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

fn fits(name: &str, field: &Value, value: &Value) -> Result<(), String> {
    let form = json!({"type": "object", "properties": {name: field}});
    // A schema that cannot be used checks nothing; whoever asked will.
    let Ok(schema) = Schema::compile(&form) else { return Ok(()) };
    schema.check(&json!({name: value})).map_err(|mismatch| mismatch.to_string())
}

/// A value as a person would type it.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(form: &Value, lines: &str) -> (Value, String) {
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
            assert_eq!(said(&form, lines).0, expected, "{lines:?}");
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
        let (answer, told) = said(&form, "y\n\nno\nbecause\n\n0.5\nyes\nl\nmon, tue\n\n");
        let content =
            json!({"why": "because", "count": 2, "share": 0.5, "sure": true, "size": "l", "days": ["mon", "tue"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
        for part in [
            "  For the record.\n  why (text): ",
            "count (whole number) [2]: ",
            "sure (yes or no) [no]: ",
            "size (s (Small), l (Large)) [none]: ",
            "days (some of mon, tue, with commas between) [none]: ",
            "Anything else (text) [none]: ",
        ] {
            assert!(told.contains(part), "{part} is not in\n{told}");
        }
        assert!(told.matches("why (text): ").count() == 3, "neither nothing nor too little is taken:\n{told}");
    }

    #[test]
    fn what_does_not_fit_is_asked_for_again_and_the_end_of_the_input_is_no_answer() {
        let form = json!({"type": "object", "properties": {
            "size": {"type": "string", "enum": ["small", "large"]},
            "count": {"type": "integer", "maximum": 3},
        }, "required": ["size", "count"]});
        let (answer, told) = said(&form, "y\nmedium\nlarge\nmany\n7\n3\n");
        assert_eq!(answer["content"], json!({"size": "large", "count": 3}), "{told}");
        assert_eq!(told.matches("count (whole number): ").count(), 3, "{told}");
        assert_eq!(said(&form, "y\nlarge\n").0, json!({"action": "cancel"}));
    }

    #[test]
    fn what_others_wrote_does_nothing_to_the_terminal() {
        let mut dialog = Dialog { input: "n\n".as_bytes(), output: Vec::new() };
        dialog.answer("\u{1b}[2JSure?\u{7}", &json!({}));
        assert_eq!(String::from_utf8(dialog.output).unwrap(), "[2JSure?\nyes, no or cancel: ");
    }
}
