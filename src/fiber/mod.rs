//! Where handlers run. A handler waits for servers with its stack, so it needs one of its own; but a thread for each
//! would cost several thread switches a call. So handlers are fibers: many of them share a few worker threads, and one
//! that waits, or computes for long, lets the others go on.

mod branches;
mod run_on_runtime;
mod fiber;
mod wakeups;
mod worker;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

pub use branches::Branches;
pub use fiber::{give_way, is_over_slice, wait, wait_for_others, wait_here};
pub use run_on_runtime::run_on_runtime;
pub use wakeups::{flush_wakeups, on_runtime_park};
use worker::Worker;

/// Workers started because all others were in the middle of one long operation.
const MAX_WORKERS: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the handler broke down: {0}")]
    Panicked(String),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    places: Arc<Semaphore>,
    /// Jobs that no worker has begun yet.
    queue: Arc<Queue>,
    workers: Mutex<Vec<Worker>>,
    /// How many workers there are as long as none is stuck.
    usual: usize,
}

impl Pool {
    /// At most `max` handlers are under way at once; others queue.
    pub fn new(max: usize) -> Pool {
        let usual = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        let places = Arc::new(Semaphore::new(max.max(1)));
        Pool(Arc::new(Shared { places, queue: Arc::default(), workers: Mutex::default(), usual }))
    }

    /// Runs a job, or lets it wait for a place. If the future is dropped while it waits the job never runs; after that it
    /// runs to its end.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolError> {
        let gone = || PoolError::Panicked("it gave no result".to_owned());
        let place = Arc::clone(&self.0.places).acquire_owned().await.map_err(|_| gone())?;
        let (sender, mut receiver) = oneshot::channel();
        self.0.queue.push(Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(job)).map_err(|payload| PoolError::Panicked(text_of(&*payload)));
            run_on_runtime(move || {
                // If nobody waits any more the result is nobody's.
                let _ = sender.send(result);
                drop(place);
            });
        }));
        // The first worker is started at once, so that whoever asked hears if there can be none.
        if !self.has_workers() || !wakeups::put_off(self) {
            self.wake_one()?;
        }
        loop {
            match tokio::time::timeout(worker::STUCK, &mut receiver).await {
                Ok(result) => return result.unwrap_or_else(|_| Err(gone())),
                Err(_) if self.0.queue.is_empty() => return receiver.await.unwrap_or_else(|_| Err(gone())),
                Err(_) => self.rescue()?,
            }
        }
    }

    fn is(&self, other: &Pool) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.0.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_workers(&self) -> bool {
        !self.workers().is_empty()
    }

    /// Sees to it that somebody takes so many jobs.
    fn wake_for(&self, jobs: usize) {
        if let Err(error) = self.wake_one() {
            tracing::warn!(%error, "waking the workers");
        }
        if jobs > 1 {
            self.workers().iter().for_each(Worker::wake);
        }
    }

    /// Sees to it that somebody takes the job: a worker that has nothing to do right now, a new one, or the one with
    /// the fewest handlers.
    fn wake_one(&self) -> Result<(), PoolError> {
        let mut workers = self.workers();
        if let Some(free) = workers.iter().find(|worker| worker.is_free()) {
            free.wake();
            return Ok(());
        }
        if workers.len() < self.0.usual {
            match Worker::start(Arc::clone(&self.0.queue), Handle::current()) {
                Ok(worker) => {
                    workers.push(worker);
                    return Ok(());
                }
                // Nobody will ever take it: it must not run after it was reported as failed.
                Err(error) if workers.is_empty() => {
                    self.0.queue.take_back();
                    return Err(error.into());
                }
                Err(error) => tracing::warn!(%error, "no further worker for handlers"),
            }
        }
        if let Some(least) = workers.iter().min_by_key(|worker| worker.load()) {
            least.wake();
        }
        Ok(())
    }

    /// Jobs are waiting though time has passed: workers may be stuck in operations that nothing can interrupt.
    fn rescue(&self) -> Result<(), PoolError> {
        let mut workers = self.workers();
        if workers.iter().all(Worker::is_stuck) && workers.len() < MAX_WORKERS {
            workers.push(Worker::start(Arc::clone(&self.0.queue), Handle::current())?);
        }
        workers.iter().for_each(Worker::wake);
        Ok(())
    }
}

/// Jobs in the order they came.
#[derive(Default)]
struct Queue(Mutex<VecDeque<Job>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.lock().push_back(job);
    }

    fn pop(&self) -> Option<Job> {
        self.lock().pop_front()
    }

    /// Undoes the last push.
    fn take_back(&self) {
        self.lock().pop_back();
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
