//! The jobs of a pool that no worker has started yet.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Jobs in the order of their arrival, shared by all workers of a pool.
#[derive(Default)]
pub(super) struct JobQueue(Mutex<VecDeque<Job>>);

impl JobQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.0.lock()
    }

    pub(super) fn push(&self, job: Job) {
        self.lock().push_back(job);
    }

    pub(super) fn pop(&self) -> Option<Job> {
        self.lock().pop_front()
    }

    /// Removes the job that was pushed last.
    pub(super) fn undo_push(&self) {
        self.lock().pop_back();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}
