//! From a script to a job for a worker, and from its last word to the result of a tool.

use serde_json::{Map, Value, json};

use super::message::{Done, Fault, Function, Job};
use crate::config::CodeMode;
use crate::json::Raw;
use crate::model::{Definition, error_result};
use crate::signature::identifiers;

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

impl Done {
    /// What was returned as `result`, and `printed` where something was; or what went wrong.
    pub fn into_result(self) -> Raw {
        let printed = self.printed;
        let value = match self.outcome {
            Ok(value) => value,
            Err(fault) => return error_result(&fault.told(&printed)),
        };
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
}

impl Fault {
    fn told(&self, printed: &str) -> String {
        let mut text = match self.line {
            Some(line) => format!("{} (line {line} of the script)", self.message),
            None => self.message.clone(),
        };
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        if !printed.is_empty() {
            text.push_str(&format!("\nprinted before:\n{printed}"));
        }
        text
    }
}
