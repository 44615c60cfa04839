//! Tools that log. In a session the client sets the level beforehand; without one each request says what it wants.

use std::time::Duration;

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, Tool};
use serde_json::json;

use crate::call::Call;
use crate::fixtures::tool;

const THREE: [&str; 3] = ["Tool execution started", "Tool processing data", "Tool execution completed"];

pub fn definitions() -> Vec<Tool> {
    let none = json!({});
    vec![
        tool("test_tool_with_logging", "Logs three messages.", &none),
        tool("test_logging_tool", "Logs one message if the request asks for logs.", &none),
    ]
}

/// The messages a tool logs; none for those that log nothing.
pub fn messages(name: &str) -> &'static [&'static str] {
    match name {
        "test_tool_with_logging" => &THREE,
        "test_logging_tool" => &["Logging was asked for"],
        _ => &[],
    }
}

/// Sends what the client wants to hear, `session_level` being what its session said.
pub async fn log(call: &Call, session_level: LoggingLevel) {
    let wanted = if call.is_stateless() { call.context.meta.log_level() } else { Some(session_level) };
    if wanted.is_none_or(|least| rank(least) > rank(LoggingLevel::Info)) {
        return;
    }
    for message in messages(&call.name) {
        let notification = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        // A client that left hears nothing, and that is fine.
        let _ = call.context.peer.notify_logging_message(notification.with_logger("conformance-server")).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn rank(level: LoggingLevel) -> u8 {
    level as u8
}
