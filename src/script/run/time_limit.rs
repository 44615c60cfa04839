//! A section of a run with a deadline of its own. A section that exceeds it is stopped, and the run continues.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use starlark::eval::Evaluator;

use super::context::Context;
use super::evaluator;
use super::meter::StopReason;
use crate::json::{Raw, RawRef};
use crate::model::ItemRef;
use crate::script::host::Effects;
use crate::script::journal::JournalCursor;
use crate::script::{Host, Stop, script_error};

impl Context {
    /// Runs something with a time limit. Returns None if the limit was exceeded; effects up to then have happened, so the
    /// caller must record the section as a whole.
    pub fn with_timeout<'v, T>(
        &self,
        limit: Duration,
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> starlark::Result<Option<T>> {
        // A deadline that overflows the clock is never reached.
        let Some(deadline) = Instant::now().checked_add(limit) else { return run(evaluator).map(Some) };
        let host = self.host.as_deref().map(|host| Arc::new(with_deadline(host, deadline)));
        let context = self.timed(host, self.meter.timed(deadline));
        let mut inner = Evaluator::new(evaluator.module());
        // The collector of this evaluator does not see the values on the caller's stack.
        inner.disable_gc();
        evaluator::prepare(&mut inner, &context, context.meter.limits())
            .map_err(|failure| script_error(failure.message))?;
        let outcome = run(&mut inner);
        if context.meter.has_asked() {
            self.meter.stop(StopReason::Stopped(Stop::Input));
        }
        match outcome {
            Err(_) if context.meter.is_late() && self.stop_reason().is_none() => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

/// The same host with calls and waits that end at a deadline.
fn with_deadline(host: &Host, deadline: Instant) -> Host {
    let effects = Arc::new(EffectsWithDeadline { effects: Arc::clone(&host.effects), deadline });
    Host { effects, ..host.clone() }
}

struct EffectsWithDeadline {
    effects: Arc<dyn Effects>,
    deadline: Instant,
}

impl Effects for EffectsWithDeadline {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        timeout: Option<Duration>,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // Whole milliseconds, because error messages show the timeout.
        let left = Duration::from_millis(left.as_micros().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1));
        self.effects.call(target, arguments, Some(timeout.map_or(left, |timeout| timeout.min(left))), cursor)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let mut is_late = false;
        {
            let bounded = async {
                tokio::select! {
                    biased;
                    () = future => {}
                    () = tokio::time::sleep_until(self.deadline.into()) => is_late = true,
                }
            };
            self.effects.wait(std::pin::pin!(bounded))?;
        }
        if is_late { Err(Stop::Deadline) } else { Ok(()) }
    }

    fn stopped(&self) -> Option<Stop> {
        self.effects.stopped()
    }
}
