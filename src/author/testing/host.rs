//! What a test itself, and a handler that it calls directly, may do.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use super::exchange;
use super::world::TestWorld;
use crate::json::{Raw, RawRef};
use crate::model::{ItemRef, error_result};
use crate::script::{Host, JournalCursor, LogLevel, Stop};
use crate::store::Store;

pub(super) struct TestHost {
    pub(super) world: Arc<TestWorld>,
}

impl TestHost {
    pub(super) fn new(world: Arc<TestWorld>) -> Self {
        TestHost { world }
    }
}

impl Host for TestHost {
    fn call(&self, target: &ItemRef, _: &RawRef, _: Option<Duration>, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Ok(error_result(&format!("a test reaches `{}` through `testing.session()` only", target.backend)))
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.world.print(line(level, message, fields));
    }

    fn stopped(&self) -> Option<Stop> {
        (Instant::now() >= self.world.deadline).then_some(Stop::Deadline)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let left = self.world.deadline.saturating_duration_since(Instant::now());
        let wait = async { tokio::time::timeout(left, future).await };
        crate::fiber::wait(wait, &self.world.runtime).map_err(|_| Stop::Deadline)
    }

    fn now(&self) -> SystemTime {
        self.world.clock.now()
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        let nowhere = |_: &str, _: &Value| Err("a function of a test cannot answer here".to_owned());
        self.world.stands_in(kind, request, nowhere)
    }

    /// A handler that a test calls runs on the test's own thread, where its functions are.
    fn stands_in_here<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> Option<Result<Raw, String>> {
        let here = |name: &str, argument: &Value| {
            exchange::called(name, argument, evaluator).map_err(|error| error.without_diagnostic().to_string())
        };
        self.world.stands_in(kind, request, here)
    }

    fn store(&self) -> Option<&Store> {
        Some(&self.world.store)
    }

    fn namespace(&self) -> &str {
        "test"
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// A line of a log as the output of a test shows it. What `print()` writes is shown as it is.
pub(super) fn line(level: LogLevel, message: &str, fields: &Map<String, Value>) -> String {
    let level = if level == LogLevel::Info { String::new() } else { format!("{}: ", level.as_str()) };
    let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{level}{message}{fields}")
}
