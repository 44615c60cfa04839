//! The answers of `find_tool`, built as the library of the presets builds them.

use std::sync::LazyLock;

use proxy_builtins::{CompactTool, compact};
use proxy_model::Definition;
use proxy_search::estimate_tokens;
use serde_json::{Value, json};

/// The library of the presets, for the text of the hint.
const LIBRARY: &str = include_str!("../presets/lib@1.star");

static HINT: LazyLock<Value> = LazyLock::new(|| {
    let text = LIBRARY.lines().find_map(|line| line.strip_prefix("_HINT = ")).expect("the library has a hint");
    serde_json::from_str(text).expect("the hint is a plain string")
});

/// An answer with definitions.
pub fn full(found: &[&Definition]) -> Value {
    let definitions = found.iter().map(|definition| {
        json!({"name": definition.key(), "description": definition.text("description"),
            "inputSchema": definition.member("inputSchema")})
    });
    json!({"tools": definitions.collect::<Vec<_>>(), "token_metrics": metrics()})
}

/// An answer with signatures, which does not cost more than this.
pub fn compacted(found: &[&Definition], max_tokens: usize) -> Value {
    let frame = json!({"tools": [], "more": found.len(), "hint": *HINT, "token_metrics": metrics()});
    let shown = compact(found.iter().copied(), Some(max_tokens.saturating_sub(tokens(&frame))));
    let told: Vec<Value> = shown.iter().map(CompactTool::to_json).collect();
    let mut answer = json!({"tools": told});
    if shown.len() < found.len() {
        answer["more"] = json!(found.len() - shown.len());
    }
    answer["hint"] = HINT.clone();
    answer["token_metrics"] = metrics();
    answer
}

/// Figures as long as real ones.
fn metrics() -> Value {
    json!({"baseline_tokens": 123_456, "returned_tokens": 1_234, "savings_percent": 98.7, "estimated": true})
}

pub fn tokens(value: &Value) -> usize {
    estimate_tokens(&value.to_string())
}
