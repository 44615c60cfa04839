//! The pool and branches under load. Nothing here depends on how fast the machine is.

mod branches;
mod pool;
mod serving;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often it was cloned and not yet dropped.
#[derive(Default)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clone for Alive {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::SeqCst);
        Alive(Arc::clone(&self.0))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
