//! Replacements in a session under test: the clock, the log, and mocked effects.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value as Json, json};

use super::recording::RecordedValues;
use crate::testing::world::{TestWorld, format_log_line};
use proxy_base::diagnostic::Location;
use proxy_engine::calls::TestOverrides;
use proxy_json::{Raw, RawRef};
use proxy_script::LogLevel;

pub(crate) struct SessionOverrides {
    pub world: Arc<TestWorld>,
    pub log: RecordedValues,
}

impl TestOverrides for SessionOverrides {
    fn now(&self) -> SystemTime {
        self.world.clock.now()
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Json>) {
        let mut entry = json!({"level": level.as_str(), "message": message});
        for (name, value) in fields {
            entry[name] = value.clone();
        }
        self.log.push(entry);
        self.world.print(format_log_line(level, message, fields));
    }

    /// Printed text goes to the log, which is part of the test's output.
    fn print(&self, _: &str) -> bool {
        false
    }

    fn mock(&self, kind: &str, request: &RawRef, place: Option<Location>) -> Option<Result<Raw, String>> {
        let call_on_test_thread = |id: &str, argument: &Json| {
            let call = self.world.exchange.call(id, argument.clone());
            proxy_fiber::wait(call, &self.world.runtime).ok_or_else(|| "the test has ended".to_owned())
        };
        self.world.mocked(kind, request, place, call_on_test_thread)
    }
}
