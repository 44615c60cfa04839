//! The tools, as clients see them.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The names of the tools.
pub(super) const CATALOG: &str = "catalog";
pub(super) const REFERENCE: &str = "reference";
pub(super) const CHECK: &str = "check";
pub(super) const TEST: &str = "test";
pub(super) const EXPLAIN: &str = "explain";
pub(super) const BACKTEST: &str = "backtest";
pub(super) const DIFF: &str = "diff";
pub(super) const SAVE: &str = "save";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        reading(
            CATALOG,
            "Lists what the servers and extensions of the config offer, from the lock or what was last seen; starts nothing. \
             With `name`, whole definitions with schemas.",
            &json!({
                "server": {"type": "string", "description": "Only this server"},
                "name": {"type": "string", "description": "Only items with this name or URI; `*` stands for any text"},
            }),
            &[],
        ),
        reading(
            REFERENCE,
            "Explains the language of scripts: all built-ins on one line each and an example, or one of them in full.",
            &json!({"name": {"type": "string", "description": "A built-in, module or type, such as `publish` or `testing`"}}),
            &[],
        ),
        reading(
            CHECK,
            "Checks drafts, or the whole config: errors and warnings with lines and hints, and what would be published.",
            &json!({"files": files(), "script": script()}),
            &[],
        ),
        reading(
            TEST,
            "Runs tests: those of the drafts, or else those of `paths`, or else all in the folder. Servers, users and time are \
             simulated; network, programs, files and databases only with the doubles of the test.",
            &json!({
                "files": files(),
                "paths": {"type": "array", "items": {"type": "string"}, "description": "Test files to run, such as `policy_test.star`"},
                "filter": {"type": "string", "description": "Only tests whose FILE::NAME contains this text"},
            }),
            &[],
        ),
        reading(
            EXPLAIN,
            "Explains what becomes of the servers' items: published, renamed, changed, hidden, and the lines of the script that \
             decided it.",
            &json!({
                "files": files(),
                "script": script(),
                "name": {"type": "string", "description": "Only this item: published name, name at the server, or SERVER/NAME"},
            }),
            &[],
        ),
        reading(
            BACKTEST,
            "Runs recorded calls through drafts, and tells which calls end otherwise than before.",
            &json!({
                "files": files(),
                "script": script(),
                "recording": {
                    "type": "string",
                    "description": "A file below the folder that `proxy calls --record FILE` wrote; its name ends in .jsonl",
                },
            }),
            &["recording"],
        ),
        reading(
            DIFF,
            "Shows what drafts change: the lines of the scripts, and the items that clients see no longer, newly or otherwise.",
            &json!({"files": files(), "script": script()}),
            &["files"],
        ),
        saving(
            SAVE,
            "Saves one script below the folder. A running proxy loads it at once if its config names it, so ask the person first. \
             The config, the lock and extensions cannot be saved.",
            &json!({
                "path": {"type": "string", "description": "Below the folder, such as `policy.star`"},
                "text": {"type": "string"},
                "replace": {"type": "boolean", "description": "Replace a script that is there (default: false)"},
            }),
            &["path", "text"],
        ),
    ]
}

fn files() -> Value {
    json!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Drafts: the text of each script by its path below the folder, such as {\"policy.star\": \"…\"}. They \
                        are used in place of the saved ones and not saved.",
    })
}

fn script() -> Value {
    json!({"type": "string", "description": "The session script to use instead of the config's, such as `policy.star`"})
}

fn reading(name: &'static str, description: &'static str, properties: &Value, required: &[&str]) -> Tool {
    let hints = ToolAnnotations::from_raw(None, Some(true), Some(false), Some(true), Some(false));
    Tool::new(name, description, schema(properties, required)).with_annotations(hints)
}

fn saving(name: &'static str, description: &'static str, properties: &Value, required: &[&str]) -> Tool {
    let hints = ToolAnnotations::from_raw(None, Some(false), Some(true), Some(true), Some(false));
    Tool::new(name, description, schema(properties, required)).with_annotations(hints)
}

fn schema(properties: &Value, required: &[&str]) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}
