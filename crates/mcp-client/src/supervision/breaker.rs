//! The circuit breaker: after several consecutive failures of a server, calls fail at once for a while.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::call::{Answer, CallError};
use proxy_config::CircuitBreaker;

#[derive(Debug)]
pub(crate) struct Breaker {
    server: Arc<str>,
    settings: CircuitBreaker,
    circuit: Mutex<Circuit>,
}

#[derive(Debug, Default)]
struct Circuit {
    /// The number of consecutive failures.
    failures: usize,
    last_counted: Option<Instant>,
    /// Describes the last failure.
    reason: String,
    /// Whether the last failure was the loss of a connection that had worked.
    was_loss: bool,
    /// Set while the breaker is open. After this time it is half open: one trial call is admitted.
    open_until: Option<Instant>,
    trial_running: bool,
}

/// An admitted call. Its outcome is reported to the breaker.
#[derive(Debug)]
pub(crate) struct AdmittedCall<'a> {
    breaker: &'a Breaker,
    started: Instant,
    /// Whether this is the trial call of a half-open breaker.
    is_trial: bool,
}

impl Breaker {
    pub(crate) fn new(server: &Arc<str>, settings: CircuitBreaker) -> Self {
        Breaker { server: Arc::clone(server), settings, circuit: Mutex::default() }
    }

    /// Fails if a call would be refused now.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        let circuit = self.lock();
        let Some(until) = circuit.open_until else { return Ok(()) };
        let now = Instant::now();
        if now < until || circuit.trial_running { Err(self.refusal(&circuit, until, now)) } else { Ok(()) }
    }

    /// Whether calls are refused, or one is on trial.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().open_until.is_some()
    }

    /// Admits a call that begins now unless the breaker is open.
    pub(crate) fn admit(&self, started: Instant) -> Result<AdmittedCall<'_>, CallError> {
        let mut circuit = self.lock();
        let is_trial = match circuit.open_until {
            Some(until) if started < until || circuit.trial_running => {
                return Err(self.refusal(&circuit, until, started));
            }
            open => open.is_some(),
        };
        circuit.trial_running |= is_trial;
        Ok(AdmittedCall { breaker: self, started, is_trial })
    }

    /// Closes the breaker after a reconnect, unless the last failure was a lost connection: such a server may start well and
    /// crash on every call.
    pub(crate) fn connected(&self) {
        let mut circuit = self.lock();
        if !circuit.was_loss {
            self.close(&mut circuit);
        }
    }

    /// Closes the breaker because the user restarts the server.
    pub(super) fn restarted(&self) {
        self.close(&mut self.lock());
    }

    fn close(&self, circuit: &mut Circuit) {
        if circuit.open_until.is_some() {
            tracing::info!(server = %self.server, "enabled again");
        }
        *circuit = Circuit::default();
    }

    fn refusal(&self, circuit: &Circuit, until: Instant, now: Instant) -> CallError {
        CallError::CircuitOpen {
            backend: Arc::clone(&self.server),
            failures: circuit.failures,
            reason: circuit.reason.clone(),
            again: until.saturating_duration_since(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock()
    }
}

/// What the outcome of a call says about the health of the server.
enum Health {
    Working,
    Unknown,
    Failing {
        reason: String,
        was_loss: bool,
        /// Whether one event fails many calls at once, such as a lost connection. It is counted once.
        is_shared: bool,
    },
}

fn health(outcome: &Result<Answer, CallError>) -> Health {
    match outcome {
        // A server that responds with an error still responds.
        Ok(_) | Err(CallError::Rpc(_) | CallError::TooLarge { .. } | CallError::Forbidden { .. }) => Health::Working,
        // These concern the caller or the proxy, not the server.
        Err(
            CallError::Cancelled
            | CallError::InputUnavailable { .. }
            | CallError::Refused { .. }
            | CallError::Locked(_)
            | CallError::Stopped(_),
        ) => Health::Unknown,
        // Nothing is wrong with the server, and a person has to act.
        Err(CallError::LoginNeeded { .. } | CallError::LogInFirst { .. }) => Health::Unknown,
        Err(CallError::Busy { .. } | CallError::CircuitOpen { .. } | CallError::Asks(_)) => Health::Unknown,
        // Decided by the proxy, without the server.
        Err(CallError::Unknown | CallError::Rejected(_) | CallError::Failed { .. }) => Health::Unknown,
        Err(CallError::Timeout { after, .. }) => {
            let reason = format!("no response within {:.1} s", after.as_secs_f64());
            Health::Failing { reason, was_loss: false, is_shared: false }
        }
        Err(CallError::Protocol { reason, .. }) => {
            Health::Failing { reason: reason.clone(), was_loss: false, is_shared: false }
        }
        Err(CallError::Lost { reason, .. }) => {
            Health::Failing { reason: reason.clone(), was_loss: true, is_shared: true }
        }
        Err(CallError::Down { reason, .. }) => {
            Health::Failing { reason: reason.clone(), was_loss: false, is_shared: true }
        }
    }
}

impl AdmittedCall<'_> {
    pub(crate) fn report(self, outcome: &Result<Answer, CallError>) {
        let breaker = self.breaker;
        match health(outcome) {
            Health::Unknown => {}
            Health::Working => breaker.close(&mut breaker.lock()),
            Health::Failing { reason, was_loss, is_shared } => self.failed(reason, was_loss, is_shared),
        }
    }

    /// Counts a response that says that the server does not work.
    pub(crate) fn report_fault(self, reason: String) {
        self.failed(reason, false, false);
    }

    fn failed(&self, reason: String, was_loss: bool, is_shared: bool) {
        let (breaker, now) = (self.breaker, Instant::now());
        let mut circuit = breaker.lock();
        if is_shared && circuit.last_counted.is_some_and(|counted| self.started < counted) {
            return;
        }
        circuit.failures += 1;
        (circuit.last_counted, circuit.reason, circuit.was_loss) = (Some(now), reason, was_loss);
        let limit = breaker.settings.failures;
        let opens = limit > 0 && circuit.failures >= limit && circuit.open_until.is_none();
        if opens || self.is_trial {
            circuit.open_until = Some(now + breaker.settings.cooldown);
            let (failures, seconds) = (circuit.failures, breaker.settings.cooldown.as_secs_f32());
            tracing::warn!(server = %breaker.server, "disabled for {seconds} s after {failures} consecutive failures");
        }
    }
}

/// Ends the trial however the call ended, so that the next trial call is admitted.
impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.lock().trial_running = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::call::TimeLimit;

    fn breaker(failures: usize, cooldown: Duration) -> Breaker {
        Breaker::new(&"s".into(), CircuitBreaker { failures, cooldown })
    }

    fn lost() -> Result<Answer, CallError> {
        Err(CallError::Lost { backend: "s".into(), reason: "it exited".to_owned() })
    }

    fn late() -> Result<Answer, CallError> {
        Err(CallError::Timeout { backend: "s".into(), after: Duration::from_secs(1), limit: TimeLimit::Idle })
    }

    fn refused() -> Result<Answer, CallError> {
        Err(CallError::Rpc(proxy_wire::RpcError::internal("no")))
    }

    fn open(breaker: &Breaker) -> bool {
        breaker.check().is_err()
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn consecutive_failures_open_it_and_a_response_of_any_kind_resets_the_count() {
        let breaker = breaker(2, LONG);
        for outcome in [late(), refused(), late()] {
            breaker.admit(Instant::now()).unwrap().report(&outcome);
            assert!(!open(&breaker));
        }
        breaker.admit(Instant::now()).unwrap().report(&late());
        let error = breaker.admit(Instant::now()).unwrap_err().to_string();
        assert_eq!(
            error,
            "server `s` is temporarily disabled after 2 consecutive failures (last: no response within 1.0 s); next attempt \
             in 3600 s"
        );
    }

    #[test]
    fn the_number_of_failures_is_singular_or_plural() {
        for (limit, expected) in [(1, " after 1 failure (last: "), (2, " after 2 consecutive failures (last: ")] {
            let breaker = breaker(limit, LONG);
            (0..limit).for_each(|_| breaker.admit(Instant::now()).unwrap().report(&late()));
            let error = breaker.admit(Instant::now()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_lost_connection_counts_once_however_many_calls_it_fails() {
        let breaker = breaker(2, LONG);
        let calls: Vec<_> = (0..10).map(|_| breaker.admit(Instant::now()).unwrap()).collect();
        calls.into_iter().for_each(|call| call.report(&lost()));
        assert!(!open(&breaker));
        breaker.admit(Instant::now()).unwrap().report(&lost());
        assert!(open(&breaker));
    }

    #[test]
    fn after_the_cooldown_one_trial_call_decides() {
        let breaker = breaker(1, Duration::ZERO);
        breaker.admit(Instant::now()).unwrap().report(&late());
        let trial = breaker.admit(Instant::now()).unwrap();
        assert!(open(&breaker), "one at a time");
        drop(trial);
        breaker.admit(Instant::now()).unwrap().report(&late());
        assert!(breaker.lock().open_until.is_some());
        breaker.admit(Instant::now()).unwrap().report(&refused());
        assert!(breaker.lock().open_until.is_none());
    }

    #[test]
    fn a_new_connection_closes_it_unless_a_call_lost_the_last_one() {
        let breaker = breaker(1, LONG);
        breaker.admit(Instant::now()).unwrap().report(&late());
        breaker.connected();
        assert!(!open(&breaker));
        breaker.admit(Instant::now()).unwrap().report(&lost());
        breaker.connected();
        assert!(open(&breaker));
    }

    #[test]
    fn it_can_be_switched_off() {
        let breaker = breaker(0, LONG);
        (0..100).for_each(|_| breaker.admit(Instant::now()).unwrap().report(&late()));
        assert!(!open(&breaker));
    }
}
