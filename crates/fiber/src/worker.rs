//! A thread of the pool, which runs fibers.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::Notify;

use super::coroutine::Fiber;
use super::queue::{JobQueue, QueuedJob};
use super::serving::ThreadHandle;
use super::worker_waker::WorkerWaker;
use super::{hand_over, timeslice};

/// The stack of the worker's own loop; fibers have their own.
const LOOP_STACK: usize = 256 << 10;
/// A fiber that runs longer than this without yielding is in an operation that cannot be suspended.
pub(super) const STUCK_AFTER: Duration = Duration::from_millis(20);

/// What a worker and its pool share.
#[derive(Debug)]
struct WorkerStatus {
    started: Instant,
    /// When the running fiber was resumed, in microseconds since `started`; 0 while no fiber runs.
    busy_since: AtomicU64,
    fibers: AtomicUsize,
    wake: Notify,
    closed: AtomicBool,
}

impl WorkerStatus {
    fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64 + 1
    }
}

/// The pool's handle to a worker. Dropping it ends the thread once its last fiber has ended.
pub(super) struct PoolWorker {
    status: Arc<WorkerStatus>,
}

impl PoolWorker {
    /// Starts the thread, which takes jobs from the queue at once. Between its fibers, it works for the calling thread.
    pub(super) fn start(queue: Arc<JobQueue>) -> io::Result<Self> {
        let origin = ThreadHandle::here();
        let status = Arc::new(WorkerStatus {
            started: Instant::now(),
            busy_since: AtomicU64::new(0),
            fibers: AtomicUsize::new(0),
            wake: Notify::new(),
            closed: AtomicBool::new(false),
        });
        let own = Arc::clone(&status);
        std::thread::Builder::new().name("handlers".into()).stack_size(LOOP_STACK).spawn(move || {
            // With a shorter time slice, the runtime thread then preempts this one.
            timeslice::request_long_timeslice();
            run_fibers(&origin, &queue, &own);
        })?;
        Ok(PoolWorker { status })
    }

    /// Tells the worker to look at the queue.
    pub(super) fn wake(&self) {
        self.status.wake.notify_one();
    }

    /// How many fibers the worker has.
    pub(super) fn load(&self) -> usize {
        self.status.fibers.load(Ordering::Relaxed)
    }

    /// Whether no fiber of the worker runs right now.
    pub(super) fn is_idle(&self) -> bool {
        self.status.busy_since.load(Ordering::Relaxed) == 0
    }

    /// Whether the running fiber has not yielded for [`STUCK_AFTER`].
    pub(super) fn is_stuck(&self) -> bool {
        let since = self.status.busy_since.load(Ordering::Relaxed);
        since != 0 && self.status.now().saturating_sub(since) > STUCK_AFTER.as_micros() as u64
    }
}

impl Drop for PoolWorker {
    fn drop(&mut self) {
        self.status.closed.store(true, Ordering::Release);
        self.wake();
    }
}

/// The worker's loop: runs until the pool is gone and every fiber has ended.
fn run_fibers(origin: &ThreadHandle, queue: &JobQueue, status: &Arc<WorkerStatus>) {
    // The number too: a fiber of the thread with the worker's number runs on the worker's runtime.
    let _adopted = origin.adopt();
    hand_over::register_worker();
    let mut fibers = FuturesUnordered::new();
    let mut woken = pin!(status.wake.notified());
    WorkerWaker::block_on(poll_fn(|context| {
        loop {
            let closed = status.closed.load(Ordering::Acquire);
            // One job, then the fibers: if a worker took all jobs at once and the first of them got stuck, no other
            // worker could take the rest.
            let job = if closed { None } else { queue.pop() };
            let started = job.is_some();
            if let Some(QueuedJob { job, origin }) = job {
                match Fiber::new(job) {
                    Ok(fiber) => {
                        status.fibers.fetch_add(1, Ordering::Relaxed);
                        fibers.push(WorkerFiber { fiber, origin, status: Arc::clone(status) });
                    }
                    // The job was dropped, and with it the sender that its caller waits for.
                    Err(error) => tracing::error!(%error, "cannot allocate a stack for a handler"),
                }
            }
            if matches!(fibers.poll_next_unpin(context), Poll::Ready(Some(()))) || started {
                continue;
            }
            if closed && fibers.is_empty() {
                return Poll::Ready(());
            }
            if woken.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            woken.set(status.wake.notified());
        }
    }));
}

/// A fiber that works for the serving thread it came from, and records in the status when it runs.
struct WorkerFiber {
    fiber: Fiber,
    origin: ThreadHandle,
    status: Arc<WorkerStatus>,
}

impl Future for WorkerFiber {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let WorkerFiber { fiber, origin, status } = &mut *self;
        let _entered = origin.enter();
        status.busy_since.store(status.now(), Ordering::Relaxed);
        let outcome = Pin::new(fiber).poll(context);
        status.busy_since.store(0, Ordering::Relaxed);
        outcome
    }
}

impl Drop for WorkerFiber {
    fn drop(&mut self) {
        self.status.fibers.fetch_sub(1, Ordering::Relaxed);
    }
}
