//! The [`Host`] of a test function and of handlers that it calls directly, without a session.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use super::exchange::call_registered;
use super::test_world::TestWorld;
use crate::json::{Raw, RawRef};
use crate::model::{ItemRef, error_result};
use crate::script::{Context, Host, JournalCursor, LogLevel, ScriptError, Stop, script_error};
use crate::store::Store;

pub(crate) struct TestHost {
    world: Arc<TestWorld>,
}

impl TestHost {
    pub(crate) fn new(world: Arc<TestWorld>) -> Self {
        TestHost { world }
    }
}

/// The world of the running test. `function` is the built-in that needs it, for the error outside of a test.
pub(crate) fn current_world<'a>(eval: &Evaluator<'_, 'a, '_>, function: &str) -> starlark::Result<&'a Arc<TestWorld>> {
    let host = Context::of(eval)?.host.as_ref().ok_or_else(|| {
        ScriptError::new(format!("`{function}` is available only while a test runs, not at the top level"))
            .hint("call it in a function `test_...()`, or in a function that tests call")
    })?;
    let host = host.as_any().and_then(|host| host.downcast_ref::<TestHost>());
    host.map(|host| &host.world).ok_or_else(|| script_error(format!("`{function}` is available in tests only")))
}

impl Host for TestHost {
    fn call(&self, target: &ItemRef, _: &RawRef, _: Option<Duration>, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        let text = format!("a test can call server `{}` through `testing.session()` only", target.backend);
        Ok(error_result(&text))
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.world.print(format_log_line(level, message, fields));
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
        let unavailable = |_: &str, _: &Value| Err("a function of the test cannot be called here".to_owned());
        self.world.mocked(kind, request, unavailable)
    }

    /// A handler that a test calls directly runs on the test's thread, where the test's functions can be called.
    fn stands_in_here<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> Option<Result<Raw, String>> {
        let call = |id: &str, argument: &Value| {
            call_registered(id, argument, evaluator).map_err(|error| error.without_diagnostic().to_string())
        };
        self.world.mocked(kind, request, call)
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

/// A log line as the output of a test shows it. `print()` logs at info level, which gets no prefix.
pub(crate) fn format_log_line(level: LogLevel, message: &str, fields: &Map<String, Value>) -> String {
    let level = if level == LogLevel::Info { String::new() } else { format!("{}: ", level.as_str()) };
    let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{level}{message}{fields}")
}
