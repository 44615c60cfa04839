//! The jobs of a pool that no worker has started yet.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use super::serving::ThreadHandle;

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A job and the serving thread that it works for.
pub(super) struct QueuedJob {
    pub(super) job: Job,
    pub(super) origin: ThreadHandle,
}

/// Jobs in the order of their arrival, shared by all workers of a pool.
#[derive(Default)]
pub(super) struct JobQueue(Mutex<VecDeque<QueuedJob>>);

impl JobQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedJob>> {
        self.0.lock()
    }

    pub(super) fn push(&self, job: QueuedJob) {
        self.lock().push_back(job);
    }

    pub(super) fn pop(&self) -> Option<QueuedJob> {
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
