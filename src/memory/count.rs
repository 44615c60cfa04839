//! What has been allocated on this thread. Whoever switches between several stacks of a thread exchanges the count, so
//! that each stack has its own.

use std::cell::Cell;

thread_local! {
    /// Bytes allocated less bytes freed. Negative where more is freed than allocated: memory changes hands.
    static BALANCE: Cell<isize> = const { Cell::new(0) };
}

/// Counts an allocation, or with a negative number a release.
#[inline]
pub(super) fn add(bytes: isize) {
    BALANCE.with(|balance| balance.set(balance.get().wrapping_add(bytes)));
}

/// What has been allocated since the last call of this function; begins again at zero.
#[inline]
pub fn take() -> isize {
    BALANCE.replace(0)
}

/// Continues with another count; returns this one.
#[inline]
pub fn exchange(count: isize) -> isize {
    BALANCE.replace(count)
}
