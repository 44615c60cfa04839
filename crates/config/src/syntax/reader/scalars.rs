//! Readers of scalar values: strings with variables, numbers, durations, sizes and choices.

use std::time::Duration;

use serde_json::Number;

use proxy_base::diagnostic::Severity;
use proxy_model::Secret;

use super::{Shape, ValueReader};
use crate::syntax::substitute::{SubstitutionError, bare_variable, substitute};
use crate::syntax::tree::Value;
use crate::syntax::units;

/// The position of a script inside the config file, so that its errors can refer to lines of that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPosition {
    /// The first line of the text in the file, counted from 1.
    pub first_line: usize,
    /// The indentation of each line, in characters.
    pub indent: usize,
}

/// A string that most readers accept, for when a config is only recorded.
const ACCEPTED: &str = "http://localhost:1";

impl ValueReader<'_> {
    pub(crate) fn string(&self) -> Option<String> {
        if self.records(|| Shape::String) {
            return Some(ACCEPTED.to_owned());
        }
        match &self.node.value {
            Value::String(text) | Value::Block(text) => self.substituted(text),
            _ => self.expected("a string"),
        }
    }

    /// A non-empty string.
    pub(crate) fn word(&self) -> Option<String> {
        let text = self.string()?;
        if text.is_empty() { self.fail("must not be empty") } else { Some(text) }
    }

    /// A string, number or Boolean as text, for example a port in `args`.
    pub(crate) fn text(&self) -> Option<String> {
        if self.records(|| Shape::Text) {
            return Some(ACCEPTED.to_owned());
        }
        match &self.node.value {
            Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            _ => self.string(),
        }
    }

    pub(crate) fn secret(&self) -> Option<Secret> {
        self.text().map(Secret::new)
    }

    /// A string without substitution of variables, with its position if it is a `|` block.
    pub(crate) fn verbatim(&self) -> Option<(String, Option<BlockPosition>)> {
        if self.records(|| Shape::String) {
            return Some((String::new(), None));
        }
        match &self.node.value {
            Value::String(text) => Some((text.clone(), None)),
            Value::Block(text) => Some((text.clone(), Some(self.block_position(text)))),
            _ => self.expected("a string"),
        }
    }

    /// Computes the position of a block, whose span begins at its first non-blank character.
    fn block_position(&self, text: &str) -> BlockPosition {
        let begin = self.context.document.place(self.node.span.clone());
        let blank_lines = text.lines().take_while(|line| line.trim().is_empty()).count();
        let own_indent = text.lines().nth(blank_lines).map_or(0, |line| line.len() - line.trim_start().len());
        BlockPosition {
            first_line: begin.line().saturating_sub(blank_lines),
            indent: (begin.column() - 1).saturating_sub(own_indent),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        if self.records(|| Shape::Boolean) {
            return Some(true);
        }
        match &self.node.value {
            Value::Bool(value) => Some(*value),
            _ => self.expected("`true` or `false`"),
        }
    }

    /// An integer of at least 1.
    pub(crate) fn count(&self) -> Option<usize> {
        if self.records(|| Shape::Integer(1)) {
            return Some(1);
        }
        let Value::Number(text) = &self.node.value else { return self.expected("an integer") };
        match text.parse() {
            Ok(number) if number > 0 => Some(number),
            _ => self.expected("an integer of at least 1"),
        }
    }

    /// An integer of at least 0.
    pub(crate) fn whole(&self) -> Option<usize> {
        if self.records(|| Shape::Integer(0)) {
            return Some(1);
        }
        match &self.node.value {
            Value::Number(text) => text.parse().ok().or_else(|| self.expected("an integer")),
            _ => self.expected("an integer"),
        }
    }

    /// A number between 0 and 1.
    pub(crate) fn fraction(&self) -> Option<f64> {
        if self.records(|| Shape::Fraction) {
            return Some(1.0);
        }
        let number = match &self.node.value {
            Value::Number(text) => text.parse().ok(),
            Value::String(text) => self.substituted(text)?.parse().ok(),
            _ => None,
        };
        number.filter(|number| (0.0..=1.0).contains(number)).or_else(|| self.expected("a number between 0 and 1"))
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        if self.records(|| Shape::Duration) {
            return Some(Duration::from_secs(1));
        }
        const EXPECTED: &str = "a duration such as `250ms`, `30s`, `5m` or `2h`";
        match &self.node.value {
            Value::String(text) => {
                let text = self.substituted(text)?;
                units::duration(&text).or_else(|| self.expected(EXPECTED))
            }
            Value::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                let problem = self.problem(&format!("expected {EXPECTED}, found `{text}` without a unit"));
                self.report(problem.hint(format!("write `{text}s` if you mean seconds, `{text}ms` for milliseconds")));
                None
            }
            _ => self.expected(EXPECTED),
        }
    }

    /// A duration greater than zero.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let duration = self.duration()?;
        if duration.is_zero() { self.fail("must be greater than zero") } else { Some(duration) }
    }

    /// A duration greater than zero, or `off`.
    pub(crate) fn timeout_or_off(&self) -> Option<Option<Duration>> {
        if self.records(|| Shape::DurationOrOff) {
            return Some(None);
        }
        match &self.node.value {
            Value::String(text) if text == "off" => Some(None),
            _ => self.timeout().map(Some),
        }
    }

    /// A number of bytes, at least one.
    pub(crate) fn size(&self) -> Option<u64> {
        if self.records(|| Shape::Size) {
            return Some(1);
        }
        const EXPECTED: &str = "a size such as `4MiB`, `64KiB`, `1GiB` or a number of bytes";
        let size = match &self.node.value {
            Value::Number(text) => units::size(text),
            Value::String(text) => units::size(&self.substituted(text)?),
            _ => None,
        };
        size.filter(|&size| size > 0).or_else(|| self.expected(EXPECTED))
    }

    /// One of several words, each with its value.
    pub(crate) fn choice<T: Clone>(&self, choices: &[(&str, T)]) -> Option<T> {
        if self.records(|| Shape::Choice(choices.iter().map(|(word, _)| (*word).to_owned()).collect())) {
            return choices.first().map(|(_, value)| value.clone());
        }
        let found = match &self.node.value {
            Value::String(text) => self.substituted(text)?,
            _ => String::new(),
        };
        let choice = choices.iter().find(|(word, _)| *word == found);
        choice.map(|(_, value)| value.clone()).or_else(|| {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.expected(&format!("one of {}", words.join(", ")))
        })
    }

    /// Any value, as JSON.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        if self.records(|| Shape::Any) {
            return None;
        }
        match &self.node.value {
            Value::Null => Some(serde_json::Value::Null),
            Value::Bool(value) => Some((*value).into()),
            Value::Number(text) => {
                json_number(text).map(Into::into).or_else(|| self.expected("a number that JSON can represent"))
            }
            Value::String(_) | Value::Block(_) => self.string().map(Into::into),
            Value::List(_) => self.list(ValueReader::json).map(Into::into),
            Value::Map(_) => self.json_object().map(Into::into),
        }
    }

    pub(crate) fn json_object(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        if self.records(|| Shape::AnyMap) {
            return None;
        }
        self.map(|_, reader| reader.json()).map(|entries| entries.into_iter().collect())
    }

    fn substituted(&self, text: &str) -> Option<String> {
        if let Some(name) = bare_variable(text, self.context.environment) {
            self.warn_about_bare(name);
        }
        match substitute(text, self.context.environment, &mut |source| self.source_value(source)) {
            Ok(value) => {
                self.note_sources(text);
                Some(value)
            }
            Err(problems) => {
                for problem in problems {
                    let diagnostic = self.problem(&problem.message()).hint(problem.hint());
                    match problem {
                        SubstitutionError::Unset(_) => self.context.unset.borrow_mut().push(diagnostic),
                        _ => self.report(diagnostic),
                    }
                }
                None
            }
        }
    }
}

impl ValueReader<'_> {
    /// Names the variable only if it is one: what follows a dollar sign can be part of a password.
    fn warn_about_bare(&self, name: &str) {
        let is_set = (self.context.environment)(name).is_some();
        let name = if is_set { name } else { "NAME" };
        let mut warning =
            self.problem(&format!("`${name}` without braces is not replaced by the environment variable"));
        warning.severity = Severity::Warning;
        self.report(warning.hint(format!("write `${{{name}}}` for its value, or `$${name}` for the text as it is")));
    }
}

/// Converts a number to JSON, including YAML forms that JSON does not allow: `+5`, `.5`, `007`.
fn json_number(text: &str) -> Option<Number> {
    if let Ok(number) = serde_json::from_str(text) {
        return Some(number);
    }
    match text.parse::<i64>() {
        Ok(integer) => Some(integer.into()),
        Err(_) => text.parse().ok().and_then(Number::from_f64),
    }
}
