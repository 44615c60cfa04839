//! Futures on the heap that were never on the stack.

/// Builds a boxed value in place. `Box::new` builds it on the stack and copies all of it to the heap, although most of a
/// large future is still-unused space for the futures it will await.
#[inline(always)]
pub fn boxed_in_place<T>(make: impl FnOnce() -> T) -> Box<T> {
    let room = Box::new_uninit();
    Box::write(room, make())
}
