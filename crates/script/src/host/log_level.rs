//! The levels of `log`, and how a line of a script reaches the log of the proxy.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
    /// Written whatever the level of the log is.
    Audit,
}

impl LogLevel {
    pub const NAMES: [&'static str; 5] = ["debug", "info", "warning", "error", "audit"];

    /// Writes a line of a script to the log of the proxy.
    pub fn record(self, message: &str, fields: &Map<String, Value>) {
        let fields = if fields.is_empty() { String::new() } else { Value::Object(fields.clone()).to_string() };
        match self {
            LogLevel::Debug => tracing::debug!(target: "script", fields, "{message}"),
            LogLevel::Info => tracing::info!(target: "script", fields, "{message}"),
            LogLevel::Warning => tracing::warn!(target: "script", fields, "{message}"),
            LogLevel::Error => tracing::error!(target: "script", fields, "{message}"),
            // The level `error` passes every filter.
            LogLevel::Audit => tracing::error!(target: "audit", fields, "{message}"),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Audit => "audit",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "debug" => Some(LogLevel::Debug),
            "info" => Some(LogLevel::Info),
            "warning" => Some(LogLevel::Warning),
            "error" => Some(LogLevel::Error),
            "audit" => Some(LogLevel::Audit),
            _ => None,
        }
    }
}
