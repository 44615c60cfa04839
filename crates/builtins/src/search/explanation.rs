//! The answer to a call with wrong arguments, from which a model can make the right call.

use serde_json::{Map, Value as Json, json};

use super::compact::compact_signature;
use proxy_json::{Raw, RawRef, raw};
use proxy_model::Definition;
use proxy_search::estimate_tokens;

/// How wrong arguments are explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explanation {
    /// The tool's schema is part of the answer only if the whole does not cost more tokens than this.
    pub(crate) max_tokens: Option<usize>,
}

impl Explanation {
    /// The answer to arguments that the proxy refused for this reason.
    pub(crate) fn refusal(self, tool: &Definition, why: &str) -> Raw {
        self.answer(tool, vec![json!({"type": "text", "text": why})])
    }

    /// The answer to arguments that the tool refused with this result.
    pub(crate) fn of_server(self, tool: &Definition, result: &RawRef) -> Raw {
        let mut result: Map<String, Json> = serde_json::from_str(result.get()).unwrap_or_default();
        let content = match result.remove("content") {
            Some(Json::Array(blocks)) => blocks,
            _ => Vec::new(),
        };
        self.answer(tool, content)
    }

    fn answer(self, tool: &Definition, mut content: Vec<Json>) -> Raw {
        let spent = content.iter().map(|block| estimate_tokens(&block.to_string())).sum();
        let left = self.max_tokens.map(|limit| limit.saturating_sub(spent));
        let signature = compact_signature(tool, left);
        let left = left.map(|left| left.saturating_sub(estimate_tokens(&signature)));
        content.push(json!({"type": "text", "text": signature}));
        let mut structured = json!({"error": "invalid_arguments", "tool": tool.key()});
        let schema = tool.member("inputSchema").unwrap_or_default();
        if left.is_none_or(|left| estimate_tokens(&schema.to_string()) <= left) {
            structured["inputSchema"] = schema;
        }
        raw(&json!({"content": content, "structuredContent": structured, "isError": true}))
    }
}

/// Says which arguments are missing that the root of the tool's schema requires; `None` if none is.
pub(super) fn missing_arguments(tool: &Definition, arguments: &Json) -> Option<String> {
    let schema = tool.member("inputSchema").unwrap_or_default();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let missing = required.filter(|name| arguments.get(*name).is_none());
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    match missing.as_slice() {
        [] => None,
        [name] => Some(format!("{name} is required")),
        [names @ .., last] => Some(format!("{} and {last} are required", names.join(", "))),
    }
}
