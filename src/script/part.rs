//! A part of a run with a deadline of its own, whatever is done in it: when it is late it is stopped, and the run goes on.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use super::journal::{JournalCursor, Question};
use super::meter::StopReason;
use super::{Context, Host, LogLevel, Stop, evaluate, script_error};
use crate::json::{Raw, RawRef};
use crate::model::{ItemRef, Request};
use crate::store::Store;

impl Context {
    /// Runs something that may take so long; none if it took longer. What it did by then has been done: whoever calls
    /// this writes down what came of it as a whole.
    pub fn within_time<'v, T>(
        &self,
        limit: Duration,
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> starlark::Result<Option<T>> {
        // A time that no clock can show never comes.
        let Some(until) = Instant::now().checked_add(limit) else { return run(evaluator).map(Some) };
        let bounded = |host: &Arc<dyn Host>| Arc::new(Bounded { host: Arc::clone(host), until }) as Arc<dyn Host>;
        let context = self.part(self.host.as_ref().map(bounded), self.meter.part(until));
        let mut inner = Evaluator::new(evaluator.module());
        // The values of the caller are on a stack that the collector of this one does not look at.
        inner.disable_gc();
        evaluate::prepare(&mut inner, &context, context.meter.limits())
            .map_err(|failure| script_error(failure.message))?;
        let outcome = run(&mut inner);
        if context.meter.has_asked() {
            self.meter.stop(StopReason::Stopped(Stop::Input));
        }
        match outcome {
            Err(_) if context.meter.is_late() && self.why().is_none() => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

/// What may be done to the world until then.
struct Bounded {
    host: Arc<dyn Host>,
    until: Instant,
}

impl Host for Bounded {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        timeout: Option<Duration>,
        line: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let left = self.until.saturating_duration_since(Instant::now());
        // Whole milliseconds, because it may be told to somebody.
        let left = Duration::from_millis(left.as_micros().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1));
        self.host.call(target, arguments, Some(timeout.map_or(left, |timeout| timeout.min(left))), line)
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.host.log(level, message, fields);
    }

    fn print(&self, text: &str) {
        self.host.print(text);
    }

    fn stopped(&self) -> Option<Stop> {
        self.host.stopped()
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let mut is_late = false;
        {
            let bounded = async {
                tokio::select! {
                    biased;
                    () = future => {}
                    () = tokio::time::sleep_until(self.until.into()) => is_late = true,
                }
            };
            self.host.wait(std::pin::pin!(bounded))?;
        }
        if is_late { Err(Stop::Deadline) } else { Ok(()) }
    }

    fn now(&self) -> SystemTime {
        self.host.now()
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        self.host.stands_in(kind, request)
    }

    fn stands_in_here<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> Option<Result<Raw, String>> {
        self.host.stands_in_here(kind, request, evaluator)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.host.as_any()
    }

    fn request(&self) -> Option<&Request> {
        self.host.request()
    }

    fn store(&self) -> Option<&Store> {
        self.host.store()
    }

    fn asked(&self) -> u64 {
        self.host.asked()
    }

    fn namespace(&self) -> &str {
        self.host.namespace()
    }

    fn line(&self) -> Option<JournalCursor> {
        self.host.line()
    }

    fn can_ask(&self, question: &Question) -> bool {
        self.host.can_ask(question)
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.host.progress(done, total, message);
    }
}
