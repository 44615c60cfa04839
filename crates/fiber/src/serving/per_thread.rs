//! Values that each serving thread has for itself.

use std::sync::OnceLock;

use super::number::{MAX_SERVING_THREADS, serving_thread};

/// One value for each serving thread, so that threads share neither locks nor connections. A value is made when it is first
/// needed.
#[derive(Debug)]
pub struct PerThread<T>([OnceLock<T>; MAX_SERVING_THREADS]);

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        PerThread(std::array::from_fn(|_| OnceLock::new()))
    }
}

impl<T> PerThread<T> {
    /// The value of the thread whose work runs here, if there is one yet.
    pub fn get(&self) -> Option<&T> {
        self.0[serving_thread()].get()
    }

    /// The value of the thread whose work runs here.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.of_or_init(serving_thread(), make)
    }

    /// The value of the thread with this number.
    pub(crate) fn of_or_init(&self, thread: usize, make: impl FnOnce() -> T) -> &T {
        self.0[thread].get_or_init(make)
    }
}

impl<T: Default> PerThread<T> {
    /// The value of the thread with this number.
    pub fn of(&self, thread: usize) -> &T {
        self.of_or_init(thread, T::default)
    }
}
