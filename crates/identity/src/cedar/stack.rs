//! Runs Cedar on a stack that it can measure. Cedar refuses to evaluate if little stack is left, and asks the thread for the
//! rest, but a fiber has its own stack, which the thread does not know.

use proxy_fiber as fiber;

/// What a decision gets on a fiber. Cedar wants 100 KiB to be left at every step.
const STACK: usize = 1 << 20;

/// Runs something on a stack whose size is known.
pub(super) fn on_known_stack<T>(run: impl FnOnce() -> T) -> T {
    if fiber::is_fiber() { stacker::grow(STACK, run) } else { run() }
}
