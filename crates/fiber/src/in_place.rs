//! Futures on the heap that were never on the stack.

/// A box whose content is made where it stays. `Box::new` makes it on the stack, reserves memory, and copies all of it;
/// most of a large future is room for what it will await, and empty when it is made.
#[inline(always)]
pub fn boxed_in_place<T>(make: impl FnOnce() -> T) -> Box<T> {
    let room = Box::new_uninit();
    Box::write(room, make())
}
