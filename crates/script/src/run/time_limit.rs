//! A section of a run with a deadline of its own. A section that exceeds it is stopped, and the run continues.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::OptionFuture;
use starlark::eval::Evaluator;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::deadline::{after, call_until, wait_until};
use super::evaluator;
use super::meter::StopReason;
use crate::host::{CallOptions, Effects, Relay};
use crate::journal::JournalCursor;
use crate::{Host, Stop, script_error};
use proxy_json::{Raw, RawRef};
use proxy_model::ItemRef;

/// The limits of a section of a run.
#[derive(Clone, Debug)]
pub struct SectionLimits {
    pub timeout: Duration,
    /// Which messages of servers are passed on at most.
    pub relay: Relay,
    /// Cancelled when nobody waits for the section any more. Its calls and waits end then.
    pub until: Option<CancellationToken>,
}

impl Context {
    /// Runs something within limits. Returns None if its time was exceeded or nobody waits for it any more; effects up to
    /// then have happened, so the caller must record the section as a whole.
    pub fn with_limits<'v, T>(
        &self,
        limits: SectionLimits,
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> starlark::Result<Option<T>> {
        let deadline = after(limits.timeout);
        let host = self.host.as_deref().map(|host| Arc::new(narrowed(host, deadline, limits.relay, limits.until)));
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
        narrowed(self, after(limit), Relay::Nothing, None)
    }
}

/// The same host with calls and waits that end at a deadline, and calls that pass at most `relay` on.
fn narrowed(host: &Host, deadline: Instant, relay: Relay, until: Option<CancellationToken>) -> Host {
    let effects = Arc::new(NarrowedEffects { effects: Arc::clone(&host.effects), deadline, relay, until });
    Host { effects, ..host.clone() }
}

struct NarrowedEffects {
    effects: Arc<dyn Effects>,
    deadline: Instant,
    relay: Relay,
    until: Option<CancellationToken>,
}

impl Effects for NarrowedEffects {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let until = options.until.or_else(|| self.until.clone());
        let options = CallOptions { relay: options.relay.min(self.relay), until, ..options };
        self.effects.call(target, arguments, call_until(self.deadline, options), cursor)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let over = async {
            let lost = OptionFuture::from(self.until.as_ref().map(CancellationToken::cancelled));
            tokio::select! {
                () = tokio::time::sleep_until(self.deadline.into()) => {}
                Some(()) = lost => {}
            }
        };
        wait_until(over, &*self.effects, future)
    }

    fn stopped(&self) -> Option<Stop> {
        self.effects.stopped()
    }
}
