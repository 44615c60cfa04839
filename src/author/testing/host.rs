//! The host of a test, and of the handlers that the test calls directly.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use super::exchange;
use super::world::TestWorld;
use crate::json::{Raw, RawRef};
use crate::model::{ItemRef, Request, error_result};
use crate::script::{Clock, Effects, Host, JournalCursor, LogLevel, Mocks, Output, RequestScope, Stop};
use crate::store::Store;

pub(super) struct TestHost {
    pub(super) world: Arc<TestWorld>,
}

impl TestHost {
    pub(super) fn new(world: Arc<TestWorld>) -> Self {
        TestHost { world }
    }

    /// This as a [`Host`]. A test has no request, and nobody to ask.
    pub(super) fn host(self: Arc<Self>) -> Arc<Host> {
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

impl Effects for TestHost {
    fn call(&self, target: &ItemRef, _: &RawRef, _: Option<Duration>, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Ok(error_result(&format!("a test reaches `{}` through `testing.session()` only", target.backend)))
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let left = self.world.deadline.saturating_duration_since(Instant::now());
        let wait = async { tokio::time::timeout(left, future).await };
        crate::fiber::wait(wait, &self.world.runtime).map_err(|_| Stop::Deadline)
    }

    fn stopped(&self) -> Option<Stop> {
        (Instant::now() >= self.world.deadline).then_some(Stop::Deadline)
    }
}

impl Output for TestHost {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.world.print(line(level, message, fields));
    }

    fn print(&self, text: &str) {
        self.log(LogLevel::Info, text, &Map::new());
    }

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}
}

impl RequestScope for TestHost {
    fn request(&self) -> Option<&Request> {
        None
    }

    fn store(&self) -> Option<&Store> {
        Some(&self.world.store)
    }
}

impl Clock for TestHost {
    fn now(&self) -> SystemTime {
        self.world.clock.now()
    }
}

impl Mocks for TestHost {
    /// A handler that a test calls runs on the thread of the test, so its evaluator can call functions of the test.
    fn mock<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: Option<&mut Evaluator<'v, '_, '_>>,
    ) -> Option<Result<Raw, String>> {
        self.world.stands_in(kind, request, |name, argument| match evaluator {
            Some(evaluator) => {
                exchange::called(name, argument, evaluator).map_err(|error| error.without_diagnostic().to_string())
            }
            None => Err("a function of a test cannot answer here".to_owned()),
        })
    }
}

/// A line of the log as the output of a test shows it. The text of `print()` is shown unchanged.
pub(super) fn line(level: LogLevel, message: &str, fields: &Map<String, Value>) -> String {
    let level = if level == LogLevel::Info { String::new() } else { format!("{}: ", level.as_str()) };
    let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{level}{message}{fields}")
}
