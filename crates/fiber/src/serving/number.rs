//! The number of the serving thread whose work runs on a thread.

use std::cell::Cell;

use tokio::runtime::{EnterGuard, Handle};

/// The limit of `serve.threads`. More threads do not pay: workers, servers and the kernel need processors, too.
pub(super) const MAX_SERVING_THREADS: usize = 8;

thread_local! {
    /// Threads that work for no particular serving thread count as the first.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the serving thread whose work runs here, below [`MAX_SERVING_THREADS`].
pub fn serving_thread() -> usize {
    NUMBER.get()
}

/// Makes the calling thread the serving thread with this number.
pub(super) fn become_serving_thread(number: usize) {
    NUMBER.set(number);
}

/// A serving thread and its runtime.
#[derive(Clone, Debug)]
pub struct ThreadHandle {
    number: usize,
    runtime: Handle,
}

impl ThreadHandle {
    /// The serving thread whose work runs here. Called on a runtime.
    pub fn here() -> Self {
        ThreadHandle { number: serving_thread(), runtime: Handle::current() }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Whether this is the serving thread whose work runs here.
    pub(crate) fn is_current(&self) -> bool {
        self.number == serving_thread()
    }

    /// Makes the calling thread work for this one whenever it works for no other, until the result is dropped.
    pub(crate) fn adopt(&self) -> EnterGuard<'_> {
        NUMBER.set(self.number);
        self.runtime.enter()
    }

    /// Makes the calling thread work for this one until the result is dropped. `None` if it does already.
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        let before = NUMBER.replace(self.number);
        (before != self.number).then(|| Entered { before, _runtime: self.runtime.enter() })
    }
}

/// While this exists, the thread works for another one.
pub(crate) struct Entered<'a> {
    before: usize,
    _runtime: EnterGuard<'a>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        NUMBER.set(self.before);
    }
}
