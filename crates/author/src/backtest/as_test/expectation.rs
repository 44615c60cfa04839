//! The statements of a test that make the call and compare its outcome.

use serde_json::{Value, json};

use super::literal;
use crate::backtest::recording::CallLine;
use proxy_model::{CallOutcome, ItemKind, RefusalReason};

/// The statements, each of which may have several lines, for a function body.
pub(super) fn statements(call: &CallLine) -> Vec<String> {
    let request = request(call);
    let raises = |text: &str| vec![format!("testing.raises(lambda: {request}, {})", literal::string(text))];
    let kind = call.kind();
    match (&call.refusal, &call.outcome, &call.result) {
        (Some(refusal), _, _) if refusal.reason == RefusalReason::Unknown => {
            raises(&format!("unknown {}: {}", kind.noun(), call.name))
        }
        // The text has the line of the script, which may change.
        (Some(refusal), _, Some(_)) if kind == ItemKind::Tool => vec![
            format!("result = {request}"),
            "testing.is_true(result[\"isError\"])".to_owned(),
            format!("testing.contains(result[\"content\"][0][\"text\"], {})", literal::string(&refusal.why)),
        ],
        (Some(refusal), _, _) => raises(&refusal.why),
        (None, CallOutcome::Asked, _) => raises("asked"),
        (None, _, Some(result)) => {
            let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
            vec![format!("testing.eq({request}, {})", literal::value(&result, 4))]
        }
        (None, outcome, None) => {
            let message = outcome.message().unwrap_or_default();
            // A tool of a test fails with a result.
            let is_of_server = call.server_calls.iter().any(|called| called.outcome.message() == Some(message));
            match kind == ItemKind::Tool && is_of_server {
                true => vec![format!("testing.is_true({request}[\"isError\"])")],
                false => raises(message),
            }
        }
    }
}

fn request(call: &CallLine) -> String {
    let name = literal::string(&call.name);
    let arguments = match call.arguments() {
        Value::Null => json!({}),
        arguments => arguments,
    };
    match call.kind() {
        ItemKind::Tool => format!("s.call({name}, {})", literal::value(&arguments, 4)),
        ItemKind::Prompt => format!("s.get_prompt({name}, {})", literal::value(&arguments, 4)),
        ItemKind::Resource | ItemKind::ResourceTemplate => format!("s.read_resource({name})"),
    }
}
