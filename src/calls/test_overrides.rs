//! What handlers have around them beside their request. In a test all of it is the test's.

use std::time::SystemTime;

use serde_json::{Map, Value};

use crate::json::{Raw, RawRef};
use crate::script::LogLevel;

pub trait TestOverrides: Send + Sync {
    /// What the clock shows.
    fn now(&self) -> SystemTime;

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>);

    /// Whether somebody has read what a script prints; otherwise it is logged.
    fn print(&self, _text: &str) -> bool {
        false
    }

    /// What is said in the world's place.
    fn mock(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>>;
}
