//! Batching of wake-ups. The runtime thread wakes the workers of a pool once for everything that one turn of its event
//! loop has for them: new jobs, and what their fibers wait for. If it woke a worker for each, the two threads would
//! alternate, one call at a time.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::Thread;

use tokio::runtime::Handle;

/// A batch of this many jobs is not held back any longer.
const MAX_BATCH: usize = 32;

/// A pool whose workers are woken for queued jobs.
pub(super) trait WakeForJobs: Send + Sync {
    /// Wakes workers for this many queued jobs.
    fn wake_for(&self, jobs: usize);
}

#[derive(Default)]
struct HeldBack {
    /// Pools whose workers are to be woken, and for how many jobs.
    pools: Vec<(Arc<dyn WakeForJobs>, usize)>,
    /// The threads of workers whose fibers can continue.
    workers: Vec<Thread>,
    /// Whether a flush task is queued on the runtime. It runs after the tasks that are ready now, even if the runtime is too
    /// busy to park.
    scheduled: bool,
}

thread_local! {
    /// None on threads that do not batch.
    static HELD_BACK: RefCell<Option<HeldBack>> = const { RefCell::new(None) };
}

/// Enables batching on the calling thread, which must call [`flush_wakeups`] whenever it parks.
pub fn batch_wakeups() {
    HELD_BACK.set(Some(HeldBack::default()));
}

/// Wakes the workers for everything that was held back on this thread since the last flush.
pub fn flush_wakeups() {
    // Called whenever the thread parks, and there is rarely anything.
    if with_held_back(|held| held.pools.is_empty() && held.workers.is_empty()) != Some(false) {
        return;
    }
    // Whatever the pools hold back is flushed below, without a task for it.
    let scheduled = with_held_back(|held| std::mem::replace(&mut held.scheduled, true));
    let pools = with_held_back(|held| std::mem::take(&mut held.pools));
    for (pool, jobs) in pools.into_iter().flatten() {
        pool.wake_for(jobs);
    }
    // After the pools, which may have held back more of them.
    let workers = with_held_back(|held| std::mem::take(&mut held.workers));
    for worker in workers.into_iter().flatten() {
        worker.unpark();
    }
    with_held_back(|held| held.scheduled = scheduled.unwrap_or_default());
}

/// Holds the wake-up for one queued job back; false on threads that do not batch, where the caller must wake a worker.
pub(super) fn hold_back<P: WakeForJobs + 'static>(pool: &Arc<P>) -> bool {
    let jobs = with_held_back(|held| {
        held.schedule();
        let is_same = |other: &Arc<dyn WakeForJobs>| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(pool));
        match held.pools.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, jobs)) => {
                *jobs += 1;
                *jobs
            }
            None => {
                held.pools.push((Arc::clone(pool) as Arc<dyn WakeForJobs>, 1));
                1
            }
        }
    });
    if jobs.is_some_and(|jobs| jobs >= MAX_BATCH) {
        flush_wakeups();
    }
    jobs.is_some()
}

/// Holds the wake-up of a worker back, unless it has `already` been woken; false on threads that do not batch, where the
/// caller must wake it.
pub(super) fn hold_back_worker(worker: &Thread, already: bool) -> bool {
    with_held_back(|held| {
        if !already {
            held.schedule();
            held.workers.push(worker.clone());
        }
    })
    .is_some()
}

fn with_held_back<T>(action: impl FnOnce(&mut HeldBack) -> T) -> Option<T> {
    HELD_BACK.with_borrow_mut(|held| held.as_mut().map(action))
}

impl HeldBack {
    fn schedule(&mut self) {
        // Outside of the runtime there is nothing that could keep the thread from parking.
        if let (false, Ok(runtime)) = (self.scheduled, Handle::try_current()) {
            self.scheduled = true;
            runtime.spawn(async {
                flush_wakeups();
                with_held_back(|held| held.scheduled = false);
            });
        }
    }
}
