//! A job with a stack of its own, that can stand still in the middle.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use tokio::runtime::Handle;

use super::Job;

/// Deep comparisons recurse natively; only touched pages cost.
const STACK: usize = 8 << 20;
/// A handler that computes longer than this lets the others on its thread go first.
const SLICE: Duration = Duration::from_millis(1);
/// Stacks that are kept for the next handlers.
const KEPT_STACKS: usize = 512;

thread_local! {
    /// The fiber that runs on this thread at this moment.
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
struct Current {
    waker: Waker,
    yielder: Rc<Cell<*const Yielder<(), ()>>>,
    since: Instant,
    /// For one of several branches of a run.
    hold: Option<Rc<Cell<Hold>>>,
}

/// Whether a branch of a run waits for the other branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    None,
    Waits,
    /// It waited, but no other branch can go on before it does.
    Hopeless,
}

/// The job as a future: each poll runs it until it waits.
pub(super) struct Fiber {
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    yielder: Rc<Cell<*const Yielder<(), ()>>>,
    hold: Option<Rc<Cell<Hold>>>,
}

impl Fiber {
    pub(super) fn new(job: Job) -> std::io::Result<Self> {
        let yielder = Rc::new(Cell::new(std::ptr::null()));
        let own = Rc::clone(&yielder);
        let coroutine = Coroutine::with_stack(stack()?, move |yielder: &Yielder<(), ()>, ()| {
            own.set(std::ptr::from_ref(yielder));
            job();
        });
        Ok(Fiber { coroutine: Some(coroutine), yielder, hold: None })
    }

    /// A branch of a run, which may borrow from it.
    ///
    /// # Safety
    /// It must be dropped before what the job borrows.
    #[expect(unsafe_code, reason = "who calls it sees to the lifetime")]
    pub(super) unsafe fn borrowing(job: Box<dyn FnOnce() + '_>, hold: Rc<Cell<Hold>>) -> std::io::Result<Self> {
        let yielder = Rc::new(Cell::new(std::ptr::null()));
        let own = Rc::clone(&yielder);
        let run = move |yielder: &Yielder<(), ()>, ()| {
            own.set(std::ptr::from_ref(yielder));
            job();
        };
        // SAFETY: as promised by the caller.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack()?, run) };
        Ok(Fiber { coroutine: Some(coroutine), yielder, hold: Some(hold) })
    }
}

fn stack() -> std::io::Result<DefaultStack> {
    let kept = STACKS.with(|stacks| stacks.borrow_mut().pop());
    kept.map_or_else(|| DefaultStack::new(STACK), Ok)
}

impl Future for Fiber {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let yielder = Rc::clone(&self.yielder);
        let (waker, hold) = (context.waker().clone(), self.hold.clone());
        let Some(coroutine) = &mut self.coroutine else { return Poll::Ready(()) };
        // A branch goes on within the time of the fiber that runs it.
        let before = CURRENT.with(RefCell::take);
        let since = before.as_ref().map_or_else(Instant::now, |before| before.since);
        CURRENT.with(|slot| slot.replace(Some(Current { waker, yielder, since, hold })));
        let outcome = coroutine.resume(());
        CURRENT.with(|slot| slot.replace(before));
        match outcome {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(()) => {
                if let Some(coroutine) = self.coroutine.take() {
                    keep(coroutine.into_stack());
                }
                Poll::Ready(())
            }
        }
    }
}

fn keep(stack: DefaultStack) {
    STACKS.with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        if stacks.len() < KEPT_STACKS {
            stacks.push(stack);
        }
    });
}

fn current() -> Option<Current> {
    CURRENT.with(|slot| slot.borrow().clone())
}

/// Leaves this fiber's stack as it is and goes back to the worker, until the waker is used.
#[expect(unsafe_code, reason = "a fiber finds its own way out through a pointer kept for its thread")]
fn suspend(current: &Current) {
    // SAFETY: the pointer was set by the coroutine that is running now, on whose stack we are, and is valid until it
    // returns; `CURRENT` is replaced at every switch, so it never belongs to another one.
    unsafe { (*current.yielder.get()).suspend(()) }
}

/// Waits for a future: in a fiber the thread goes on with others, elsewhere it blocks.
pub fn wait<F: Future>(future: F, runtime: &Handle) -> F::Output {
    if current().is_none() {
        return runtime.block_on(future);
    }
    let mut future = std::pin::pin!(future);
    loop {
        // Asked for anew each time: another poll may have come with another waker.
        let Some(current) = current() else { return runtime.block_on(future) };
        match future.as_mut().poll(&mut Context::from_waker(&current.waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => suspend(&current),
        }
    }
}

/// The same without a runtime at hand: what is waited for brings its own.
pub fn wait_here<F: Future>(future: F) -> F::Output {
    match Handle::try_current() {
        Ok(runtime) => wait(future, &runtime),
        Err(_) => futures::executor::block_on(future),
    }
}

/// Whether this fiber has computed for so long that others should go first.
pub fn is_over_slice() -> bool {
    CURRENT.with(|slot| slot.borrow().as_ref().is_some_and(|current| current.since.elapsed() > SLICE))
}

/// Lets the others go first.
pub fn give_way() {
    let Some(current) = current() else { return };
    current.waker.wake_by_ref();
    suspend(&current);
}

/// Lets the other branches of this run go on until this one may; false if none of them can before it does.
pub fn wait_for_others() -> bool {
    let Some(current) = current() else { return false };
    let Some(hold) = current.hold.clone() else { return false };
    hold.set(Hold::Waits);
    suspend(&current);
    hold.replace(Hold::None) != Hold::Hopeless
}
