//! Counts the memory allocated on this thread. Code that switches between several stacks on a thread exchanges the count,
//! so that each stack has its own.

use std::cell::Cell;

thread_local! {
    /// Bytes allocated less bytes freed. Negative where more is freed than allocated: memory changes hands.
    static BALANCE: Cell<isize> = const { Cell::new(0) };
    /// The balance at which the current count began.
    static START: Cell<isize> = const { Cell::new(0) };
}

/// Counts an allocation, or with a negative number a release.
#[inline]
pub(super) fn add(bytes: isize) {
    BALANCE.with(|balance| balance.set(balance.get().wrapping_add(bytes)));
}

/// What has been allocated since the last call of this function; begins again at zero.
#[inline]
pub fn take() -> isize {
    exchange(0)
}

/// Continues with another count; returns this one.
#[inline]
pub fn exchange(count: isize) -> isize {
    let balance = BALANCE.get();
    balance.wrapping_sub(START.replace(balance.wrapping_sub(count)))
}

/// What this thread has allocated and not freed in all, whatever was taken or exchanged. The difference of two balances is
/// what stays of the work between them, if that ran on one thread.
pub fn balance() -> isize {
    BALANCE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_begin_again_and_the_balance_goes_on() {
        take();
        let before = balance();
        let kept = vec![0u8; 1000];
        drop(vec![0u8; 5000]);
        assert_eq!(exchange(50), 1000);
        let more = vec![0u8; 10];
        assert_eq!(take(), 60);
        assert_eq!(balance() - before, 1010);
        drop((kept, more));
        assert_eq!(balance(), before);
    }
}
