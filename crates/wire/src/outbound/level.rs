//! A count of bytes with a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The bytes that wait for a connection, for a person, or for all clients.
#[derive(Debug)]
pub(super) struct Level {
    limit: usize,
    used: AtomicUsize,
    /// The bytes of messages that wait for room.
    waiting: AtomicUsize,
    pub(super) freed: Notify,
}

impl Level {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Level { limit, used: AtomicUsize::new(0), waiting: AtomicUsize::new(0), freed: Notify::new() })
    }

    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    pub(super) fn is_full(&self) -> bool {
        self.used() >= self.limit
    }

    pub(super) fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Whether another message may wait for room.
    pub(super) fn can_wait(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < self.limit
    }

    pub(super) fn begin_wait(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn end_wait(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::SeqCst);
        if before >= self.limit {
            self.freed.notify_waiters();
        }
    }
}
