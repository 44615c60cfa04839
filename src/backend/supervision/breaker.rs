//! Leaves a server alone for a while that has failed several times in a row, so that nobody waits for it in vain.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::backend::call::backend_call::{Answer, CallError};
use crate::config::CircuitBreaker;

#[derive(Debug)]
pub(crate) struct Breaker {
    server: Arc<str>,
    settings: CircuitBreaker,
    circuit: Mutex<Circuit>,
}

#[derive(Debug, Default)]
struct Circuit {
    /// In a row, and when the last of them was counted.
    failures: usize,
    counted: Option<Instant>,
    /// The last failure, in words, and whether it ended a connection that had worked.
    reason: String,
    was_loss: bool,
    /// Until then nobody calls it; afterwards one call tries.
    open_until: Option<Instant>,
    trying: bool,
}

/// A call that may go ahead. What became of it decides about those after it.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    breaker: &'a Breaker,
    began: Instant,
    /// The one call that tries whether the server works again.
    alone: bool,
}

impl Breaker {
    pub(crate) fn new(server: &Arc<str>, settings: CircuitBreaker) -> Arc<Self> {
        Arc::new(Breaker { server: Arc::clone(server), settings, circuit: Mutex::default() })
    }

    /// Whether a call would be refused now.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        let circuit = self.lock();
        let Some(until) = circuit.open_until else { return Ok(()) };
        let now = Instant::now();
        if now < until || circuit.trying { Err(self.refusal(&circuit, until, now)) } else { Ok(()) }
    }

    pub(crate) fn admit(&self) -> Result<Trial<'_>, CallError> {
        let (mut circuit, began) = (self.lock(), Instant::now());
        let alone = match circuit.open_until {
            Some(until) if began < until || circuit.trying => return Err(self.refusal(&circuit, until, began)),
            open => open.is_some(),
        };
        circuit.trying |= alone;
        Ok(Trial { breaker: self, began, alone })
    }

    /// The server was met anew. That answers every doubt, unless it is one that comes up and dies of its calls.
    pub(crate) fn connected(&self) {
        let mut circuit = self.lock();
        if !circuit.was_loss {
            self.close(&mut circuit);
        }
    }

    fn close(&self, circuit: &mut Circuit) {
        if circuit.open_until.is_some() {
            tracing::info!(server = %self.server, "is called again");
        }
        *circuit = Circuit::default();
    }

    fn refusal(&self, circuit: &Circuit, until: Instant, now: Instant) -> CallError {
        CallError::Resting {
            backend: Arc::clone(&self.server),
            failures: circuit.failures,
            reason: circuit.reason.clone(),
            again: until.saturating_duration_since(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an outcome says about the server.
enum Sign {
    Works,
    Nothing,
    Failure {
        reason: String,
        was_loss: bool,
        /// One event that fails many calls at once is still one.
        shared: bool,
    },
}

fn sign(outcome: &Result<Answer, CallError>) -> Sign {
    match outcome {
        // Whatever it answers, it answers.
        Ok(_) | Err(CallError::Rpc(_) | CallError::TooLarge { .. }) => Sign::Works,
        // About the caller, not about the server.
        Err(CallError::Cancelled | CallError::Unanswered { .. } | CallError::Refused { .. }) => Sign::Nothing,
        Err(CallError::Busy { .. } | CallError::Resting { .. } | CallError::Asks) => Sign::Nothing,
        Err(CallError::Timeout { after, .. } | CallError::LateStart { after, .. }) => {
            let reason = format!("no answer within {:.1} s", after.as_secs_f64());
            Sign::Failure { reason, was_loss: false, shared: false }
        }
        Err(CallError::Protocol { reason, .. }) => {
            Sign::Failure { reason: reason.clone(), was_loss: false, shared: false }
        }
        Err(CallError::Lost { reason, .. }) => Sign::Failure { reason: reason.clone(), was_loss: true, shared: true },
        Err(CallError::Down { reason, .. }) => Sign::Failure { reason: reason.clone(), was_loss: false, shared: true },
    }
}

impl Trial<'_> {
    pub(crate) fn report(self, outcome: &Result<Answer, CallError>) {
        let breaker = self.breaker;
        match sign(outcome) {
            Sign::Nothing => {}
            Sign::Works => breaker.close(&mut breaker.lock()),
            Sign::Failure { reason, was_loss, shared } => self.failed(reason, was_loss, shared),
        }
    }

    fn failed(&self, reason: String, was_loss: bool, shared: bool) {
        let (breaker, now) = (self.breaker, Instant::now());
        let mut circuit = breaker.lock();
        if shared && circuit.counted.is_some_and(|counted| self.began < counted) {
            return;
        }
        circuit.failures += 1;
        (circuit.counted, circuit.reason, circuit.was_loss) = (Some(now), reason, was_loss);
        let limit = breaker.settings.failures;
        let opens = limit > 0 && circuit.failures >= limit && circuit.open_until.is_none();
        if opens || self.alone {
            circuit.open_until = Some(now + breaker.settings.cooldown);
            let (failures, seconds) = (circuit.failures, breaker.settings.cooldown.as_secs_f32());
            tracing::warn!(server = %breaker.server, "left alone for {seconds} s; failures in a row: {failures}");
        }
    }
}

/// However the trial ends, the next one may come.
impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if self.alone {
            self.breaker.lock().trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn breaker(failures: usize, cooldown: Duration) -> Arc<Breaker> {
        Breaker::new(&"s".into(), CircuitBreaker { failures, cooldown })
    }

    fn lost() -> Result<Answer, CallError> {
        Err(CallError::Lost { backend: "s".into(), reason: "it ended".to_owned() })
    }

    fn late() -> Result<Answer, CallError> {
        Err(CallError::Timeout { backend: "s".into(), after: Duration::from_secs(1) })
    }

    fn refused() -> Result<Answer, CallError> {
        Err(CallError::Rpc(crate::wire::RpcError::internal("no")))
    }

    fn open(breaker: &Breaker) -> bool {
        breaker.check().is_err()
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn failures_in_a_row_open_it_and_answers_of_any_kind_start_the_row_anew() {
        let breaker = breaker(2, LONG);
        for outcome in [late(), refused(), late()] {
            breaker.admit().unwrap().report(&outcome);
            assert!(!open(&breaker));
        }
        breaker.admit().unwrap().report(&late());
        let told = breaker.admit().unwrap_err().to_string();
        assert!(
            told.contains("`s`") && told.contains("2 failures") && told.contains("no answer within 1.0 s"),
            "{told}"
        );
    }

    #[test]
    fn failures_are_counted_in_words_that_fit() {
        for (limit, expected) in
            [(1, ": 1 failure in a row, the last one: "), (2, ": 2 failures in a row, the last one: ")]
        {
            let breaker = breaker(limit, LONG);
            (0..limit).for_each(|_| breaker.admit().unwrap().report(&late()));
            let told = breaker.admit().unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn one_death_counts_once_however_many_calls_it_took_along() {
        let breaker = breaker(2, LONG);
        let trials: Vec<_> = (0..10).map(|_| breaker.admit().unwrap()).collect();
        trials.into_iter().for_each(|trial| trial.report(&lost()));
        assert!(!open(&breaker));
        breaker.admit().unwrap().report(&lost());
        assert!(open(&breaker));
    }

    #[test]
    fn after_the_pause_one_call_tries_and_decides() {
        let breaker = breaker(1, Duration::ZERO);
        breaker.admit().unwrap().report(&late());
        let trial = breaker.admit().unwrap();
        assert!(open(&breaker), "one at a time");
        drop(trial);
        breaker.admit().unwrap().report(&late());
        assert!(breaker.lock().open_until.is_some());
        breaker.admit().unwrap().report(&refused());
        assert!(breaker.lock().open_until.is_none());
    }

    #[test]
    fn a_new_connection_closes_it_unless_the_server_dies_of_its_calls() {
        let breaker = breaker(1, LONG);
        breaker.admit().unwrap().report(&late());
        breaker.connected();
        assert!(!open(&breaker));
        breaker.admit().unwrap().report(&lost());
        breaker.connected();
        assert!(open(&breaker));
    }

    #[test]
    fn it_can_be_switched_off() {
        let breaker = breaker(0, LONG);
        (0..100).for_each(|_| breaker.admit().unwrap().report(&late()));
        assert!(!open(&breaker));
    }
}
