//! Cedar does not evaluate where little stack is left, and asks the thread how much there is. A fiber has a stack of its own,
//! of which the thread knows nothing.

use proxy_fiber as fiber;

/// What a decision gets on a fiber. Cedar wants 100 KiB to be left at every step.
const STACK: usize = 1 << 20;

/// Runs something on a stack whose size is known.
pub(super) fn on_known_stack<T>(run: impl FnOnce() -> T) -> T {
    if fiber::is_fiber() { stacker::grow(STACK, run) } else { run() }
}
