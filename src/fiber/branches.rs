//! Jobs that run beside each other on the stack, and so within the lifetime, of one that waits for all of them. Each has
//! a stack of its own; they take turns on their thread whenever one waits.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

use super::fiber::{Fiber, Hold, is_over_slice, wait_for_others};

type Job<'a> = Box<dyn FnOnce() + 'a>;

/// Runs to its end every job that was begun; dropped before, it unwinds their stacks.
pub struct Branches<'a> {
    waiting: VecDeque<Job<'a>>,
    begun: Vec<Branch>,
    limit: usize,
    /// Whether those that were held may go on.
    may_go_on: &'a dyn Fn() -> bool,
    waker: Arc<AtomicWaker>,
}

struct Branch {
    /// None when it has ended.
    fiber: Option<Fiber>,
    flag: Arc<Flag>,
    waker: Waker,
    hold: Rc<Cell<Hold>>,
}

/// Wakes the whole for one branch.
struct Flag {
    ready: AtomicBool,
    whole: Arc<AtomicWaker>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.store(true, Ordering::Release);
        self.whole.wake();
    }
}

impl<'a> Branches<'a> {
    /// At most `limit` of them are at work at once.
    pub fn new(jobs: Vec<Job<'a>>, limit: usize, may_go_on: &'a dyn Fn() -> bool) -> Self {
        Branches { waiting: jobs.into(), begun: Vec::new(), limit, may_go_on, waker: Arc::default() }
    }

    fn count(&self, hold: Hold) -> usize {
        self.begun.iter().filter(|branch| branch.fiber.is_some() && branch.hold.get() == hold).count()
    }

    fn begin_next(&mut self) -> std::io::Result<bool> {
        if self.count(Hold::None) >= self.limit {
            return Ok(false);
        }
        let Some(job) = self.waiting.pop_front() else { return Ok(false) };
        let hold = Rc::new(Cell::new(Hold::None));
        let fiber = begin(job, Rc::clone(&hold))?;
        let flag = Arc::new(Flag { ready: AtomicBool::new(true), whole: Arc::clone(&self.waker) });
        self.begun.push(Branch { fiber: Some(fiber), waker: Arc::clone(&flag).into(), flag, hold });
        Ok(true)
    }

    /// Lets those that are ready do something; whether any was.
    fn turn(&mut self) -> bool {
        let mut any = false;
        for branch in &mut self.begun {
            let Some(fiber) = &mut branch.fiber else { continue };
            if branch.hold.get() == Hold::Waits || !branch.flag.ready.swap(false, Ordering::Acquire) {
                continue;
            }
            any = true;
            if Pin::new(fiber).poll(&mut Context::from_waker(&branch.waker)).is_ready() {
                branch.fiber = None;
            }
        }
        any
    }

    /// Lets held ones go on, as far as there are places for them.
    fn release(&mut self, verdict: Hold) -> bool {
        let mut places = self.limit.saturating_sub(self.count(Hold::None)).max(usize::from(verdict == Hold::Hopeless));
        let mut any = false;
        for branch in &self.begun {
            if places > 0 && branch.fiber.is_some() && branch.hold.get() == Hold::Waits {
                branch.hold.set(verdict);
                branch.flag.ready.store(true, Ordering::Release);
                (places, any) = (places - 1, true);
            }
        }
        any
    }
}

impl Future for Branches<'_> {
    type Output = std::io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.waker.register(context.waker());
        loop {
            let held = self.count(Hold::Waits);
            let released = held > 0 && (self.may_go_on)() && self.release(Hold::None);
            let begun = match self.begin_next() {
                Ok(begun) => begun,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if self.turn() || begun || released {
                if is_over_slice() {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                continue;
            }
            if self.waiting.is_empty() && self.begun.iter().all(|branch| branch.fiber.is_none()) {
                return Poll::Ready(Ok(()));
            }
            // Those that are not held wait for something outside, and will be woken.
            if self.count(Hold::None) > 0 || self.count(Hold::Waits) == 0 {
                return Poll::Pending;
            }
            if !wait_for_others() {
                self.release(Hold::Hopeless);
            }
        }
    }
}

/// A fiber for a job that borrows from whoever waits for it.
#[expect(unsafe_code, reason = "the fiber borrows; it cannot outlive what it borrows from")]
fn begin(job: Job<'_>, hold: Rc<Cell<Hold>>) -> std::io::Result<Fiber> {
    // SAFETY: `Branches` keeps the fiber and has the lifetime of what the job borrows; whether it is polled to the end
    // or dropped, the fiber's stack is gone before that lifetime ends.
    unsafe { Fiber::borrowing(job, hold) }
}
