//! Worker threads that run many fibers each, behind a limit on the number of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, oneshot};

use super::common_delay::CommonDelay;
use super::hand_over::run_on_runtime;
use super::queue::{JobQueue, QueuedJob};
use super::serving::ThreadHandle;
use super::wakeups::{self, WakeForJobs};
use super::worker::{self, PoolWorker};

/// A pool never starts more workers than this, even if all of them are stuck.
const MAX_WORKERS: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("handler panicked: {0}")]
    Panicked(String),
    #[error("handler was dropped before it finished")]
    Dropped,
    #[error("cannot start a worker thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Runs jobs as fibers. Clones share the workers; the workers end when the last clone is dropped.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

struct PoolInner {
    permits: Arc<Semaphore>,
    queue: Arc<JobQueue>,
    workers: Mutex<Vec<PoolWorker>>,
    /// How many workers there are while none is stuck.
    usual_workers: usize,
    /// How long a job may wait in the queue before another worker is considered.
    stuck: CommonDelay,
}

impl Pool {
    /// At most `max` jobs run at once; further jobs queue.
    pub fn new(max: usize) -> Pool {
        let usual_workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        let permits = Arc::new(Semaphore::new(max.max(1)));
        let stuck = CommonDelay::new(worker::STUCK_AFTER);
        Pool(Arc::new(PoolInner { permits, queue: Arc::default(), workers: Mutex::default(), usual_workers, stuck }))
    }

    /// Runs a job as a fiber once there is a permit for it. If this future is dropped before it has a permit, the job
    /// never runs; after that, the job runs to its end, and its result is dropped.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, PoolError> {
        let permit = Arc::clone(&self.0.permits).acquire_owned().await.map_err(|_| PoolError::Dropped)?;
        let (sender, mut receiver) = oneshot::channel();
        let job = Box::new(move || {
            let result =
                catch_unwind(AssertUnwindSafe(job)).map_err(|payload| PoolError::Panicked(panic_message(&*payload)));
            run_on_runtime(move || {
                // Fails if the caller has dropped the future.
                let _ = sender.send(result);
                drop(permit);
            });
        });
        self.0.queue.push(QueuedJob { job, origin: ThreadHandle::here() });
        // The first worker is started at once, so that the caller learns if there can be none.
        if !self.has_workers() || !wakeups::hold_back(&self.0) {
            self.0.wake_one()?;
        }
        loop {
            tokio::select! {
                biased;
                result = &mut receiver => return result.unwrap_or(Err(PoolError::Dropped)),
                () = self.0.stuck.elapsed() => {}
            }
            if self.0.queue.is_empty() {
                return receiver.await.unwrap_or(Err(PoolError::Dropped));
            }
            self.0.replace_stuck_workers()?;
        }
    }

    pub(super) fn workers(&self) -> MutexGuard<'_, Vec<PoolWorker>> {
        self.0.workers.lock()
    }

    fn has_workers(&self) -> bool {
        !self.workers().is_empty()
    }
}

impl WakeForJobs for PoolInner {
    fn wake_for(&self, jobs: usize) {
        if let Err(error) = self.wake_one() {
            tracing::warn!(%error, "cannot start a worker for handlers");
        }
        if jobs > 1 {
            self.workers.lock().iter().for_each(PoolWorker::wake);
        }
    }
}

impl PoolInner {
    /// Wakes a worker for one queued job: an idle one, a new one, or the one with the fewest fibers.
    fn wake_one(&self) -> Result<(), PoolError> {
        let mut workers = self.workers.lock();
        if let Some(idle) = workers.iter().find(|worker| worker.is_idle()) {
            idle.wake();
            return Ok(());
        }
        if workers.len() < self.usual_workers {
            match PoolWorker::start(Arc::clone(&self.queue)) {
                Ok(worker) => {
                    workers.push(worker);
                    return Ok(());
                }
                // There is no worker to run the job, and it must not run after it was reported as failed.
                Err(error) if workers.is_empty() => {
                    self.queue.undo_push();
                    return Err(error.into());
                }
                Err(error) => tracing::warn!(%error, "cannot start another worker for handlers"),
            }
        }
        if let Some(least) = workers.iter().min_by_key(|worker| worker.load()) {
            least.wake();
        }
        Ok(())
    }

    /// Called when a queued job was not started in time. Adds a worker if every worker is stuck in an operation that
    /// cannot be suspended.
    fn replace_stuck_workers(&self) -> Result<(), PoolError> {
        let mut workers = self.workers.lock();
        if workers.iter().all(PoolWorker::is_stuck) && workers.len() < MAX_WORKERS {
            workers.push(PoolWorker::start(Arc::clone(&self.queue))?);
        }
        workers.iter().for_each(PoolWorker::wake);
        Ok(())
    }
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}
