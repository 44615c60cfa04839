//! Limits the memory of the replay buffers of all sessions together, in addition to the limit of each session. Over the
//! limit, the buffers of the streams that finished first are cleared first, and running streams keep one event.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::session_stream::StreamState;

/// The default limit for all replay buffers together.
const MAX_REPLAY_BYTES: usize = 256 << 20;

/// Counts the bytes in all replay buffers.
#[derive(Debug)]
pub(crate) struct ReplayBudget {
    limit: usize,
    bytes: AtomicUsize,
    /// The finished streams, oldest first. A stream that its session has dropped cannot be upgraded.
    finished: Mutex<VecDeque<Weak<Mutex<StreamState>>>>,
}

impl Default for ReplayBudget {
    fn default() -> Self {
        ReplayBudget::with_limit(MAX_REPLAY_BYTES)
    }
}

impl ReplayBudget {
    pub(super) fn with_limit(limit: usize) -> Self {
        ReplayBudget { limit, bytes: AtomicUsize::new(0), finished: Mutex::default() }
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.limit
    }

    /// Registers a finished stream, whose buffer may be cleared from now on. The caller must not hold the stream's
    /// lock.
    pub(super) fn finished(&self, stream: &Arc<Mutex<StreamState>>) {
        let mut finished = self.finished.lock();
        finished.push_back(Arc::downgrade(stream));
        while finished.front().is_some_and(|oldest| oldest.strong_count() == 0) {
            finished.pop_front();
        }
        while self.is_exceeded() {
            let Some(oldest) = finished.pop_front() else { return };
            if let Some(stream) = oldest.upgrade() {
                stream.lock().clear_buffer();
            }
        }
    }
}
