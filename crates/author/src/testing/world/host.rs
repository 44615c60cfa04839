//! The [`Host`] for test functions and for handlers that they call directly, without a session.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use super::exchange::call_registered;
use super::test_world::TestWorld;
use proxy_json::{Raw, RawRef};
use proxy_model::{ItemRef, RequestInfo, error_result};
use proxy_script::{
    CallOptions, Clock, Context, Effects, Host, JournalCursor, LogLevel, Mocks, NotedFact, Output, RequestScope,
    ScriptError, Stop, ToolFacts, ToolRefusal, current_place, script_error,
};

pub(crate) struct TestHost {
    world: Arc<TestWorld>,
}

impl TestHost {
    pub(crate) fn new(world: Arc<TestWorld>) -> Self {
        TestHost { world }
    }

    /// This as a [`Host`]. A test has no request, and nobody to ask.
    pub(crate) fn host(self: Arc<Self>) -> Arc<Host> {
        Arc::new(Host {
            output: self.clone(),
            scope: self.clone(),
            clock: self.clone(),
            mocks: Some(self.clone()),
            namespace: "test".into(),
            test: Some(self.clone()),
            ..Host::outside_request(self)
        })
    }
}

/// The world of the running test. `function` is the built-in that needs it, for the error outside of a test.
pub(crate) fn current_world<'a>(eval: &Evaluator<'_, 'a, '_>, function: &str) -> starlark::Result<&'a Arc<TestWorld>> {
    let host = Context::of(eval)?.host.as_ref().ok_or_else(|| {
        ScriptError::new(format!("`{function}` is available only while a test runs, not at the top level"))
            .hint("call it in a function `test_...()`, or in a function that tests call")
    })?;
    let host = host.test.as_ref().and_then(|test| test.downcast_ref::<TestHost>());
    host.map(|host| &host.world).ok_or_else(|| script_error(format!("`{function}` is available in tests only")))
}

impl Effects for TestHost {
    fn call(&self, target: &ItemRef, _: &RawRef, _: CallOptions, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        let text = format!("a test can call server `{}` through `testing.session()` only", target.backend);
        Ok(error_result(&text))
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let left = self.world.deadline.saturating_duration_since(Instant::now());
        let wait = async { tokio::time::timeout(left, future).await };
        proxy_fiber::wait(wait, &self.world.runtime).map_err(|_| Stop::Deadline)
    }

    fn stopped(&self) -> Option<Stop> {
        (Instant::now() >= self.world.deadline).then_some(Stop::Deadline)
    }
}

impl Output for TestHost {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.world.print(format_log_line(level, message, fields));
    }

    fn print(&self, text: &str) {
        self.log(LogLevel::Info, text, &Map::new());
    }

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn notify(&self, params: &RawRef) {
        self.world.print(format!("notify: {params}"));
    }
}

impl RequestScope for TestHost {
    fn request(&self) -> Option<&RequestInfo> {
        None
    }

    fn store(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.world.store)
    }

    fn admit(&self, _: ToolFacts<'_>, _: &Value) -> Result<Option<u64>, ToolRefusal> {
        Ok(None)
    }

    fn note(&self, _: NotedFact) {}
}

impl Clock for TestHost {
    fn now(&self) -> SystemTime {
        self.world.clock.now()
    }
}

impl Mocks for TestHost {
    /// A handler that a test calls directly runs on the test's thread, where its evaluator can call the test's functions.
    fn mock<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: Option<&mut Evaluator<'v, '_, '_>>,
    ) -> Option<Result<Raw, String>> {
        let place = evaluator.as_deref().and_then(current_place);
        self.world.mocked(kind, request, place, |id: &str, argument: &Value| match evaluator {
            Some(evaluator) => {
                call_registered(id, argument, evaluator).map_err(|error| error.without_diagnostic().to_string())
            }
            None => Err("a function of the test cannot be called here".to_owned()),
        })
    }
}

/// A log line as the output of a test shows it. `print()` logs at info level, which gets no prefix.
pub(crate) fn format_log_line(level: LogLevel, message: &str, fields: &Map<String, Value>) -> String {
    let level = if level == LogLevel::Info { String::new() } else { format!("{}: ", level.as_str()) };
    let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{level}{message}{fields}")
}
