//! Jobs that run concurrently on one thread and borrow from the caller, which waits for all of them. Each job has a stack
//! of its own; the thread switches between them whenever one waits. `parallel` of handlers and of sandboxed scripts both
//! run on this.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

use super::coroutine::{Fiber, Hold, is_over_slice, wait_for_siblings};
use super::stack::HANDLER_STACK;

type BranchJob<'a> = Box<dyn FnOnce() + 'a>;

/// Runs every job to its end. Jobs start in order; of those that can continue, the earlier runs first. Dropping this
/// before the end unwinds the stacks of all started jobs; the others never start.
///
/// Completes with an error if there is no memory for a stack.
pub struct Branches<'a> {
    queued: VecDeque<BranchJob<'a>>,
    /// Branches that have started and not ended, in order.
    started: Vec<Branch>,
    limit: usize,
    stack_size: usize,
    /// Whether branches in [`wait_for_siblings`] may continue.
    may_go_on: &'a dyn Fn() -> bool,
    /// The waker of the task that polls this.
    waker: Arc<AtomicWaker>,
}

struct Branch {
    fiber: Fiber,
    wake_flag: Arc<WakeFlag>,
    waker: Waker,
    hold: Rc<Cell<Hold>>,
}

/// The waker of one branch: it marks the branch as ready and wakes the task that polls all of them.
struct WakeFlag {
    ready: AtomicBool,
    task: Arc<AtomicWaker>,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<'a> Branches<'a> {
    /// At most `limit` jobs run at once, not counting those in [`wait_for_siblings`].
    pub fn new(jobs: Vec<BranchJob<'a>>, limit: usize, may_go_on: &'a dyn Fn() -> bool) -> Self {
        Branches {
            queued: jobs.into(),
            started: Vec::new(),
            limit,
            stack_size: HANDLER_STACK,
            may_go_on,
            waker: Arc::default(),
        }
    }

    /// Gives each job a stack of this many bytes instead of a handler's.
    #[must_use]
    pub fn with_stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    fn count(&self, hold: Hold) -> usize {
        self.started.iter().filter(|branch| branch.hold.get() == hold).count()
    }

    fn start_next(&mut self) -> io::Result<bool> {
        if self.count(Hold::None) >= self.limit {
            return Ok(false);
        }
        let Some(job) = self.queued.pop_front() else { return Ok(false) };
        let hold = Rc::new(Cell::new(Hold::None));
        let fiber = fiber_for(job, Rc::clone(&hold), self.stack_size)?;
        let wake_flag = Arc::new(WakeFlag { ready: AtomicBool::new(true), task: Arc::clone(&self.waker) });
        self.started.push(Branch { fiber, waker: Arc::clone(&wake_flag).into(), wake_flag, hold });
        Ok(true)
    }

    /// Polls the branches that are ready, in order. Returns whether there was one.
    fn poll_ready(&mut self) -> bool {
        let mut any = false;
        self.started.retain_mut(|branch| {
            if branch.hold.get() == Hold::Waiting || !branch.wake_flag.ready.swap(false, Ordering::Acquire) {
                return true;
            }
            any = true;
            Pin::new(&mut branch.fiber).poll(&mut Context::from_waker(&branch.waker)).is_pending()
        });
        any
    }

    /// Marks branches in [`wait_for_siblings`] as ready, as far as the limit allows; at least one to break a deadlock.
    fn release(&mut self, verdict: Hold) -> bool {
        let at_least = usize::from(verdict == Hold::Deadlocked);
        let mut capacity = self.limit.saturating_sub(self.count(Hold::None)).max(at_least);
        let mut any = false;
        for branch in &self.started {
            if capacity > 0 && branch.hold.get() == Hold::Waiting {
                branch.hold.set(verdict);
                branch.wake_flag.ready.store(true, Ordering::Release);
                (capacity, any) = (capacity - 1, true);
            }
        }
        any
    }
}

impl Future for Branches<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.waker.register(context.waker());
        loop {
            let released = self.count(Hold::Waiting) > 0 && (self.may_go_on)() && self.release(Hold::None);
            let started = match self.start_next() {
                Ok(started) => started,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if self.poll_ready() || started || released {
                if is_over_slice() {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                continue;
            }
            if self.queued.is_empty() && self.started.is_empty() {
                return Poll::Ready(Ok(()));
            }
            // Branches that are not held wait for something outside, which will wake them.
            if self.count(Hold::None) > 0 || self.count(Hold::Waiting) == 0 {
                return Poll::Pending;
            }
            // All branches wait for each other: the caller may be a branch itself, with siblings that can continue.
            if !wait_for_siblings() {
                self.release(Hold::Deadlocked);
            }
        }
    }
}

#[expect(unsafe_code, reason = "the fiber borrows; it cannot outlive what it borrows from")]
fn fiber_for(job: BranchJob<'_>, hold: Rc<Cell<Hold>>, stack_size: usize) -> io::Result<Fiber> {
    // SAFETY: `Branches` owns the fiber and has the lifetime of what the job borrows. Whether it is polled to the end or
    // dropped, the fiber's stack is gone before that lifetime ends.
    unsafe { Fiber::branch(job, hold, stack_size) }
}
