//! What `proxy test` replaces around a handler: the clock, the log, printed text and effects.

use std::time::SystemTime;

use serde_json::{Map, Value};

use proxy_base::diagnostic::Location;
use proxy_json::{Raw, RawRef};
use proxy_script::LogLevel;

/// Replaces the environment of handlers in a test.
pub trait TestOverrides: Send + Sync {
    /// The current time of the test.
    fn now(&self) -> SystemTime;

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>);

    /// Receives printed text. Returns false if the text should be logged instead.
    fn print(&self, text: &str) -> bool;

    /// The mocked result of an effect; `None` if the effect is not mocked. `place` is the line of the script that has it.
    fn mock(&self, kind: &str, request: &RawRef, place: Option<Location>) -> Option<Result<Raw, String>>;
}
