//! A job with a stack of its own, which can be suspended in the middle of a call.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use tokio::runtime::Handle;

use super::queue::Job;
use super::stack;
use proxy_base::memory;

/// How long a fiber of the pool computes before it yields to the other fibers of its thread.
const SLICE: Duration = Duration::from_millis(1);

/// How a fiber finds its coroutine's yielder. Null until the coroutine has started.
type YielderSlot = Rc<Cell<*const Yielder<(), ()>>>;

thread_local! {
    /// The fiber that runs on this thread right now.
    static CURRENT: RefCell<Option<CurrentFiber>> = const { RefCell::new(None) };
}

#[derive(Clone)]
struct CurrentFiber {
    waker: Waker,
    yielder: YielderSlot,
    /// When the time slice began; none outside a pool, where no other fiber competes for the thread.
    slice_start: Option<Instant>,
    /// Set for branches of a run.
    hold: Option<Rc<Cell<Hold>>>,
}

/// Whether a branch waits for its siblings (see [`wait_for_siblings`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// It does not.
    None,
    /// It is suspended until its siblings have made progress.
    Waiting,
    /// It waited, but every sibling waits too.
    Deadlocked,
}

/// A job as a future: each poll runs it until it waits or ends.
pub(super) struct Fiber {
    /// None once the job has ended.
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    yielder: YielderSlot,
    hold: Option<Rc<Cell<Hold>>>,
    /// The count of its memory while it does not run.
    allocated: isize,
}

impl Fiber {
    /// A fiber for a job of the pool.
    pub(super) fn new(job: Job) -> io::Result<Self> {
        let yielder: YielderSlot = Rc::new(Cell::new(std::ptr::null()));
        let slot = Rc::clone(&yielder);
        let stack = stack::allocate(stack::HANDLER_STACK)?;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            slot.set(std::ptr::from_ref(yielder));
            job();
        });
        Ok(Fiber { coroutine: Some(coroutine), yielder, hold: None, allocated: 0 })
    }

    /// A fiber for a branch of a run, which may borrow from that run.
    ///
    /// # Safety
    /// The fiber must be dropped before anything that the job borrows.
    #[expect(unsafe_code, reason = "the caller guarantees the lifetime")]
    pub(super) unsafe fn branch(
        job: Box<dyn FnOnce() + '_>,
        hold: Rc<Cell<Hold>>,
        stack_size: usize,
    ) -> io::Result<Self> {
        let yielder: YielderSlot = Rc::new(Cell::new(std::ptr::null()));
        let slot = Rc::clone(&yielder);
        let run = move |yielder: &Yielder<(), ()>, ()| {
            slot.set(std::ptr::from_ref(yielder));
            job();
        };
        // SAFETY: the caller drops the fiber before anything that the job borrows.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack::allocate(stack_size)?, run) };
        Ok(Fiber { coroutine: Some(coroutine), yielder, hold: Some(hold), allocated: 0 })
    }
}

impl Future for Fiber {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (yielder, hold, mut allocated) = (Rc::clone(&self.yielder), self.hold.clone(), self.allocated);
        let Some(coroutine) = &mut self.coroutine else { return Poll::Ready(()) };
        let outcome = {
            let outer = Outer::suspend();
            // A branch runs within the time slice of the fiber that runs it.
            let slice_start = match &outer.fiber {
                Some(fiber) => fiber.slice_start,
                None => hold.is_none().then(Instant::now),
            };
            let current = CurrentFiber { waker: context.waker().clone(), yielder, slice_start, hold };
            CURRENT.set(Some(current));
            memory::exchange(allocated);
            let outcome = coroutine.resume(());
            allocated = memory::take();
            outcome
        };
        self.allocated = allocated;
        match outcome {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(()) => {
                if let Some(coroutine) = self.coroutine.take() {
                    stack::release(coroutine.into_stack());
                }
                Poll::Ready(())
            }
        }
    }
}

/// Dropping a suspended fiber unwinds its stack on this thread. Destructors there find no current fiber: the yielder of
/// the fiber that drops it is not valid on that stack.
impl Drop for Fiber {
    fn drop(&mut self) {
        let _outer = Outer::suspend();
        self.coroutine = None;
    }
}

/// The fiber that was current before another one was resumed, and its memory count. Dropping this makes it current again,
/// even if the other fiber panics.
struct Outer {
    fiber: Option<CurrentFiber>,
    allocated: isize,
}

impl Outer {
    fn suspend() -> Self {
        Outer { fiber: CURRENT.take(), allocated: memory::take() }
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.fiber.take());
        memory::exchange(self.allocated);
    }
}

/// Whether this code runs on the stack of a fiber.
pub fn is_fiber() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

fn current() -> Option<CurrentFiber> {
    CURRENT.with_borrow(Clone::clone)
}

/// Switches from this fiber's stack to whoever polls the fiber; returns when it is polled again.
#[expect(unsafe_code, reason = "a fiber reaches its yielder through a thread-local pointer")]
fn suspend(current: &CurrentFiber) {
    // SAFETY: the running coroutine set the pointer; we are on its stack, and the pointer is valid until it returns.
    // `CURRENT` is replaced at every switch, so the pointer never belongs to another coroutine.
    unsafe { (*current.yielder.get()).suspend(()) }
}

/// Polls a future from inside a fiber until it is ready; none outside of fibers, where the future was not polled.
fn wait_in_fiber<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    loop {
        // Read on each round: every poll of the fiber may bring another waker.
        let current = current()?;
        match future.as_mut().poll(&mut Context::from_waker(&current.waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => suspend(&current),
        }
    }
}

/// Waits for a future. A fiber is suspended, and its thread runs other fibers; a plain thread blocks on `runtime`.
pub fn wait<F: Future>(future: F, runtime: &Handle) -> F::Output {
    let mut future = std::pin::pin!(future);
    wait_in_fiber(future.as_mut()).unwrap_or_else(|| runtime.block_on(future))
}

/// Waits for a future that needs no particular runtime. A fiber is suspended, and its thread runs other fibers; a plain
/// thread blocks, on its current runtime if it has one.
pub fn wait_here<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    wait_in_fiber(future.as_mut()).unwrap_or_else(|| match Handle::try_current() {
        Ok(runtime) => runtime.block_on(future),
        Err(_) => futures::executor::block_on(future),
    })
}

/// Whether this fiber has used up its time slice. Never true outside a pool.
pub fn is_over_slice() -> bool {
    let start = CURRENT.with_borrow(|current| current.as_ref().and_then(|current| current.slice_start));
    start.is_some_and(|start| start.elapsed() > SLICE)
}

/// Yields to the other fibers of this thread. Does nothing outside of fibers.
pub fn yield_now() {
    let Some(current) = current() else { return };
    current.waker.wake_by_ref();
    suspend(&current);
}

/// Yields at the end of a time slice, from code that computes for long outside of a script.
pub fn yield_if_over_slice() {
    if is_over_slice() {
        yield_now();
    }
}

/// Suspends this branch until its siblings have made progress and it may continue; false if none of them can continue
/// before this one does, or if this is no branch.
pub fn wait_for_siblings() -> bool {
    let Some(current) = current() else { return false };
    let Some(hold) = current.hold.clone() else { return false };
    hold.set(Hold::Waiting);
    suspend(&current);
    hold.replace(Hold::None) != Hold::Deadlocked
}
