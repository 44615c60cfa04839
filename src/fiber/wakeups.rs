//! Batching of wake-ups. The runtime thread wakes the workers of a pool once for all the jobs of one turn of its event
//! loop, just before it parks. If it woke a worker for each job, the two threads would alternate, one job at a time.

use std::cell::RefCell;

use super::pool::Pool;

/// A batch of this many jobs is not held back any longer.
const MAX_BATCH: usize = 32;

thread_local! {
    /// Pools whose workers are to be woken, and for how many jobs; none on threads that do not batch.
    static PENDING: RefCell<Option<Vec<(Pool, usize)>>> = const { RefCell::new(None) };
}

/// Enables batching on the calling thread, which must call [`flush_wakeups`] whenever it parks.
pub fn batch_wakeups() {
    PENDING.set(Some(Vec::new()));
}

/// Wakes the workers for all jobs that were queued on this thread since the last flush.
pub fn flush_wakeups() {
    let pending = PENDING.with_borrow_mut(|pending| pending.as_mut().map(std::mem::take));
    for (pool, jobs) in pending.into_iter().flatten() {
        pool.wake_for(jobs);
    }
}

/// Holds the wake-up for one queued job back; false on threads that do not batch, where the caller must wake a worker.
pub(super) fn hold_back(pool: &Pool) -> bool {
    let jobs = PENDING.with_borrow_mut(|pending| {
        let pending = pending.as_mut()?;
        match pending.iter_mut().find(|(other, _)| other.is(pool)) {
            Some((_, jobs)) => {
                *jobs += 1;
                Some(*jobs)
            }
            None => {
                pending.push((pool.clone(), 1));
                Some(1)
            }
        }
    });
    if jobs.is_some_and(|jobs| jobs >= MAX_BATCH) {
        flush_wakeups();
    }
    jobs.is_some()
}
