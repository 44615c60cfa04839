//! How often each backend was called, and how often in vain.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Answer, CallError};

/// Of one backend, since the proxy was started.
#[derive(Debug, Default)]
pub struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
}

impl Tally {
    pub(super) fn note(&self, outcome: &Result<Answer, CallError>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        // An error that the backend answered with is an answer; one that was called off did not fail.
        if !matches!(outcome, Ok(_) | Err(CallError::Rpc(_) | CallError::Cancelled)) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Calls that got no answer.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// By name: a backend that comes back goes on counting.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<HashMap<Arc<str>, Arc<Tally>>>);

impl Tallies {
    pub(super) fn of(&self, backend: &Arc<str>) -> Arc<Tally> {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tallies.entry(Arc::clone(backend)).or_default())
    }
}
