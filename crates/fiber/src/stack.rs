//! Stacks for fibers. Mapping a stack and touching its pages costs more than a short handler, so each thread caches the
//! stacks of fibers that have ended.

use std::cell::RefCell;
use std::io;

use corosensei::stack::{DefaultStack, Stack};

/// The size of a handler's stack. Comparing deeply nested Starlark values recurses natively; untouched pages are free.
pub const HANDLER_STACK: usize = 8 << 20;
/// Stacks that a thread caches at most.
const MAX_CACHED: usize = 512;

thread_local! {
    static CACHED: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack of at least `size` bytes. Only stacks of [`HANDLER_STACK`] bytes come from the cache.
pub(super) fn allocate(size: usize) -> io::Result<DefaultStack> {
    let cached = if size == HANDLER_STACK { CACHED.with_borrow_mut(Vec::pop) } else { None };
    cached.map_or_else(|| DefaultStack::new(size), Ok)
}

/// Caches the stack of a fiber that has ended, or unmaps it: stacks of another size belong to processes whose address
/// space is limited.
pub(super) fn release(stack: DefaultStack) {
    let size = stack.base().get() - stack.limit().get();
    CACHED.with_borrow_mut(|cached| {
        if size >= HANDLER_STACK && cached.len() < MAX_CACHED {
            cached.push(stack);
        }
    });
}
