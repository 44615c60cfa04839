//! What one test has of the world.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::Handle;

use super::run::DEADLINE;
use crate::diagnostic::Diagnostic;

pub(super) struct TestWorld {
    pub runtime: Handle,
    pub deadline: Instant,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    printed: Vec<String>,
}

impl TestWorld {
    pub(super) fn new(runtime: Handle) -> Self {
        TestWorld { runtime, deadline: Instant::now() + DEADLINE, notes: Mutex::default() }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn print(&self, line: String) {
        self.notes().printed.push(line);
    }

    pub(super) fn printed(&self) -> Vec<String> {
        self.notes().printed.clone()
    }

    /// What is wrong at the end of a test that has not failed.
    pub(super) fn complaint(&self) -> Option<Diagnostic> {
        None
    }
}
