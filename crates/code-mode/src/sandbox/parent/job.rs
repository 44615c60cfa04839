//! Creates a worker's job from a script, its tools and the `codeMode` limits.

use serde_json::Value;

use crate::sandbox::protocol::{ScriptJob, ToolFunction};
use crate::typings::identifiers;
use proxy_config::CodeMode;
use proxy_model::Definition;

impl ScriptJob {
    /// A job for a script over these tools. Tools whose name makes no identifier can be called by `call_tool` only.
    pub fn new<'a>(source: &str, data: &Value, tools: impl Iterator<Item = &'a Definition>, limits: &CodeMode) -> Self {
        let names: Vec<&str> = tools.map(Definition::key).collect();
        let functions = names
            .iter()
            .zip(identifiers(names.iter().copied()))
            .filter_map(|(name, identifier)| Some(ToolFunction { identifier: identifier?, tool: (*name).to_owned() }));
        ScriptJob {
            source: source.to_owned(),
            data: proxy_json::raw(data),
            functions: functions.collect(),
            step_limit: limits.step_limit,
            memory_limit: limits.memory,
            output_limit: limits.max_output,
            max_concurrent_branches: limits.parallel_max_concurrency,
            require_jail: limits.require_jail,
        }
    }
}
