//! A thread that runs fibers.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::fiber::Fiber;
use super::{Queue, run_on_runtime};

/// The worker's own loop needs little; fibers have their own stacks.
const STACK: usize = 256 << 10;
/// Longer than this in one go, without giving way, is an operation that nothing can interrupt.
pub(super) const STUCK: Duration = Duration::from_millis(20);

/// What is known of a worker from outside.
#[derive(Debug)]
struct State {
    born: Instant,
    /// When it began what it does now, in microseconds since it was born; 0 if it waits.
    busy_since: AtomicU64,
    load: AtomicUsize,
    wake: Notify,
    closed: AtomicBool,
}

impl State {
    fn now(&self) -> u64 {
        self.born.elapsed().as_micros() as u64 + 1
    }
}

pub(super) struct Worker {
    state: Arc<State>,
}

impl Worker {
    /// Starts the thread, which begins with the queue. Timers and sockets of what runs there belong to `runtime`.
    pub(super) fn start(queue: Arc<Queue>, runtime: Handle) -> io::Result<Self> {
        let state = Arc::new(State {
            born: Instant::now(),
            busy_since: AtomicU64::new(0),
            load: AtomicUsize::new(0),
            wake: Notify::new(),
            closed: AtomicBool::new(false),
        });
        let inside = Arc::clone(&state);
        std::thread::Builder::new().name("handlers".into()).stack_size(STACK).spawn(move || {
            // Whoever serves clients has less to do at a time.
            crate::process::request_long_timeslice();
            work(&runtime, &queue, &inside);
        })?;
        Ok(Worker { state })
    }

    /// There is something in the queue.
    pub(super) fn wake(&self) {
        self.state.wake.notify_one();
    }

    /// How many handlers are under way on it.
    pub(super) fn load(&self) -> usize {
        self.state.load.load(Ordering::Relaxed)
    }

    /// Whether it waits for something to do.
    pub(super) fn is_free(&self) -> bool {
        self.state.busy_since.load(Ordering::Relaxed) == 0
    }

    pub(super) fn is_stuck(&self) -> bool {
        let since = self.state.busy_since.load(Ordering::Relaxed);
        since != 0 && self.state.now().saturating_sub(since) > STUCK.as_micros() as u64
    }
}

/// The pool is gone: the thread ends with its last handler.
impl Drop for Worker {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::Release);
        self.wake();
    }
}

/// Runs until the pool is gone and every fiber has ended.
fn work(runtime: &Handle, queue: &Queue, state: &Arc<State>) {
    let _context = runtime.enter();
    run_on_runtime::begin(runtime);
    let mut fibers = FuturesUnordered::new();
    let mut woken = pin!(state.wake.notified());
    futures::executor::block_on(poll_fn(|context| {
        loop {
            let closed = state.closed.load(Ordering::Acquire);
            // One job, then a turn for the fibers: a worker that took all at once would keep the rest from the others if
            // the first of them got stuck.
            let job = if closed { None } else { queue.pop() };
            let begun = job.is_some();
            match job.map(Fiber::new) {
                None => {}
                Some(Ok(fiber)) => {
                    state.load.fetch_add(1, Ordering::Relaxed);
                    fibers.push(Timed { fiber, state: Arc::clone(state) });
                }
                // Dropping the job has told whoever waits for it.
                Some(Err(error)) => tracing::error!(%error, "no stack for a handler"),
            }
            if matches!(fibers.poll_next_unpin(context), Poll::Ready(Some(()))) || begun {
                continue;
            }
            if closed && fibers.is_empty() {
                return Poll::Ready(());
            }
            if woken.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            woken.set(state.wake.notified());
        }
    }));
}

/// A fiber that says when it is at work.
struct Timed {
    fiber: Fiber,
    state: Arc<State>,
}

impl Future for Timed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.state.busy_since.store(self.state.now(), Ordering::Relaxed);
        let outcome = Pin::new(&mut self.fiber).poll(context);
        self.state.busy_since.store(0, Ordering::Relaxed);
        outcome
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.state.load.fetch_sub(1, Ordering::Relaxed);
    }
}
