//! From a script to a job for a worker, and from its last word to the result of a tool.

use serde_json::{Map, Value, json};

use super::message::{Fault, Function, Job};
use crate::config::CodeMode;
use crate::json::{Raw, RawRef};
use crate::model::{Definition, error_result};
use crate::typings::identifiers;

impl Job {
    pub fn new<'a>(source: &str, data: &Value, tools: impl Iterator<Item = &'a Definition>, limits: &CodeMode) -> Self {
        let names: Vec<&str> = tools.map(Definition::key).collect();
        let functions = names
            .iter()
            .zip(identifiers(names.iter().copied()))
            .filter_map(|(name, identifier)| Some(Function { identifier: identifier?, tool: (*name).to_owned() }));
        Job {
            source: source.to_owned(),
            data: crate::json::raw(data),
            functions: functions.collect(),
            steps: limits.step_limit,
            memory: limits.memory,
            output: limits.max_output,
            branches: limits.parallel_max_concurrency,
        }
    }
}

/// Of what a failed script printed so much is told, the end of it.
const MOST_TOLD: usize = 16 << 10;

/// What a script returned, as `result`, and `printed` where something was.
pub(super) fn returned(value: &RawRef, printed: String) -> Raw {
    let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut content = vec![json!({"type": "text", "text": text})];
    let mut structured = Map::from_iter([("result".to_owned(), value)]);
    if !printed.is_empty() {
        content.push(json!({"type": "text", "text": format!("printed:\n{printed}")}));
        structured.insert("printed".to_owned(), printed.into());
    }
    crate::json::raw(&json!({"content": content, "structuredContent": structured}))
}

/// Why there is nothing to return, and what was printed before that.
pub(super) fn failed(mut reason: String, printed: &str) -> Raw {
    if !printed.is_empty() {
        let start = printed.ceil_char_boundary(printed.len().saturating_sub(MOST_TOLD));
        let cut = if start > 0 { format!(" (the last {} bytes of it)", printed.len() - start) } else { String::new() };
        reason.push_str(&format!("\nprinted before{cut}:\n{}", &printed[start..]));
    }
    error_result(&reason)
}

impl Fault {
    pub(super) fn told(&self) -> String {
        let mut text = match self.line {
            Some(line) => format!("{} (line {line} of the script)", self.message),
            None => self.message.clone(),
        };
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}
