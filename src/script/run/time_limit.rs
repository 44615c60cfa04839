//! A section of a run with a deadline of its own. A section that exceeds it is stopped, and the run continues.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use starlark::eval::Evaluator;

use super::context::Context;
use super::deadline::{after, call_until, wait_until};
use super::evaluator;
use super::meter::StopReason;
use crate::json::{Raw, RawRef};
use crate::model::ItemRef;
use crate::script::host::{CallOptions, Effects, Relay};
use crate::script::journal::JournalCursor;
use crate::script::{Host, Stop, script_error};

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
        let deadline = after(limit);
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

impl Host {
    /// This host with calls and waits that end this long from now, and calls that pass no messages of servers on.
    #[must_use]
    pub fn with_time_to_wait(&self, limit: Duration) -> Host {
        narrowed(self, after(limit), Relay::Nothing)
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
        let options = CallOptions { relay: options.relay.min(self.relay), ..options };
        self.effects.call(target, arguments, call_until(self.deadline, options), cursor)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        wait_until(tokio::time::sleep_until(self.deadline.into()), &*self.effects, future)
    }

    fn stopped(&self) -> Option<Stop> {
        self.effects.stopped()
    }
}
