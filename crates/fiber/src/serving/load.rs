//! What a serving thread has to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct ThreadLoad {
    connections: AtomicUsize,
    running: AtomicUsize,
    requests: AtomicU64,
}

/// What a serving thread does and has done.
#[derive(Clone, Copy, Debug)]
pub struct ThreadReport {
    pub connections: usize,
    /// Requests that are being answered.
    pub running: usize,
    /// All requests so far.
    pub requests: u64,
    /// How long the thread was not idle so far.
    pub busy: Duration,
}

impl ThreadLoad {
    /// What a new connection goes by: the lower, the better.
    pub(super) fn rank(&self) -> (usize, usize) {
        (self.running.load(Ordering::Relaxed), self.connections.load(Ordering::Relaxed))
    }

    pub(super) fn report(&self, busy: Duration) -> ThreadReport {
        let (running, connections) = self.rank();
        ThreadReport { connections, running, requests: self.requests.load(Ordering::Relaxed), busy }
    }

    pub(super) fn connection(self: &Arc<Self>) -> LoadingConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        LoadingConnection(Arc::clone(self))
    }
}

/// A connection that a thread serves, until this is dropped.
#[derive(Debug)]
pub struct LoadingConnection(Arc<ThreadLoad>);

impl LoadingConnection {
    /// Counts a request until the result is dropped.
    pub fn request(&self) -> LoadingRequest {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        LoadingRequest(Arc::clone(&self.0))
    }
}

impl Drop for LoadingConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that a thread answers, until this is dropped.
#[derive(Debug)]
pub struct LoadingRequest(Arc<ThreadLoad>);

impl Drop for LoadingRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
