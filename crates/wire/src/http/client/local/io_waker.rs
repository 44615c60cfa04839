//! The waker of the future that does the I/O of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Poll, Wake, Waker};

use futures::task::AtomicWaker;

/// Wakes the task that waits for the connection. hyper wakes the I/O future also whenever a part of a body is taken, so that
/// it provides the next one. The task that takes the part polls that future itself: a wake-up would have it polled once
/// more, for nothing.
#[derive(Debug, Default)]
pub(super) struct IoWaker {
    task: AtomicWaker,
    state: AtomicU8,
}

const AWAKE: u8 = 0;
/// Something is being taken.
const QUIET: u8 = 1;
/// Somebody woke meanwhile.
const MISSED: u8 = 2;

impl IoWaker {
    /// From now on this task is woken.
    pub(super) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// Takes something of the connection, without a wake-up if there was something to take: then the caller will come back
    /// and poll the I/O future before it waits.
    pub(super) fn quietly<T>(&self, take: impl FnOnce() -> Poll<T>) -> Poll<T> {
        self.state.store(QUIET, Ordering::SeqCst);
        let taken = take();
        // Another thread may have woken because of I/O.
        if self.state.swap(AWAKE, Ordering::SeqCst) == MISSED && taken.is_pending() {
            self.task.wake();
        }
        taken
    }
}

impl Wake for IoWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let quiet = self.state.compare_exchange(QUIET, MISSED, Ordering::SeqCst, Ordering::SeqCst);
        if quiet == Err(AWAKE) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_who_has_taken_something_is_not_woken_for_it() {
        let (io, woken) = (Arc::new(IoWaker::default()), Arc::new(Count::default()));
        let wake = || Waker::from(Arc::clone(&io)).wake();
        for (taken, expected) in [(Poll::Ready(()), 0), (Poll::Pending, 1)] {
            io.register(&Arc::clone(&woken).into());
            let outcome = io.quietly(|| {
                wake();
                taken
            });
            assert_eq!((outcome, woken.0.load(Ordering::SeqCst)), (taken, expected));
        }
        io.register(&Arc::clone(&woken).into());
        wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 2, "woken by I/O");
    }
}
