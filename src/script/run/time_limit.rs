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
use crate::script::host::{CallOptions, Effects, Relay};
use crate::script::journal::JournalCursor;
use crate::script::{Host, Stop, script_error};

/// A time that no section takes.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl Context {
    /// Runs something with a time limit, and passes at most `relay` of the messages of servers on. Returns None if the limit
    /// was exceeded; effects up to then have happened, so the caller must record the section as a whole.
    pub fn with_timeout<'v, T>(
        &self,
        limit: Duration,
        relay: Relay,
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> starlark::Result<Option<T>> {
        let now = Instant::now();
        // A deadline that overflows the clock is never reached: a century stands for it.
        let deadline = now.checked_add(limit).unwrap_or(now + CENTURY);
        let host = self.host.as_deref().map(|host| Arc::new(narrowed(host, deadline, relay)));
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

/// The same host with calls and waits that end at a deadline, and calls that pass at most `relay` on.
fn narrowed(host: &Host, deadline: Instant, relay: Relay) -> Host {
    let effects = Arc::new(NarrowedEffects { effects: Arc::clone(&host.effects), deadline, relay });
    Host { effects, ..host.clone() }
}

struct NarrowedEffects {
    effects: Arc<dyn Effects>,
    deadline: Instant,
    relay: Relay,
}

impl Effects for NarrowedEffects {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // Whole milliseconds, because error messages show the timeout.
        let left = Duration::from_millis(left.as_micros().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1));
        let timeout = Some(options.timeout.map_or(left, |timeout| timeout.min(left)));
        let relay = options.relay.min(self.relay);
        self.effects.call(target, arguments, CallOptions { timeout, relay, ..options }, cursor)
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
