//! What all streams together keep for clients that come back. Each session has a bound of its own, but there may be
//! thousands of them; beyond this one, the streams that were finished first are forgotten first.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::stream::State;

const KEPT_BYTES: usize = 256 << 20;

#[derive(Debug)]
pub(crate) struct Replay {
    limit: usize,
    bytes: AtomicUsize,
    /// Oldest first. Those that their sessions forgot are empty by now.
    finished: Mutex<VecDeque<Weak<Mutex<State>>>>,
}

impl Default for Replay {
    fn default() -> Self {
        Replay::with_limit(KEPT_BYTES)
    }
}

impl Replay {
    pub(crate) fn with_limit(limit: usize) -> Self {
        Replay { limit, bytes: AtomicUsize::new(0), finished: Mutex::default() }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn take_away(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A stream is finished: from now on it may be forgotten. Its lock must not be held.
    pub(crate) fn finished(&self, stream: &Arc<Mutex<State>>) {
        let mut finished = self.finished.lock();
        finished.push_back(Arc::downgrade(stream));
        while finished.front().is_some_and(|oldest| oldest.strong_count() == 0) {
            finished.pop_front();
        }
        while self.bytes.load(Ordering::Relaxed) > self.limit {
            let Some(oldest) = finished.pop_front() else { return };
            if let Some(stream) = oldest.upgrade() {
                stream.lock().forget();
            }
        }
    }
}
