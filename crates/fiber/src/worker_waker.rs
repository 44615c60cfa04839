//! Wakes the thread of a worker. The runtime thread does so once for everything it has completed in one turn.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

use super::wakeups;

pub(super) struct WorkerWaker {
    thread: Thread,
    woken: AtomicBool,
}

impl WorkerWaker {
    /// Runs a future on this thread until it is ready.
    pub(super) fn block_on(future: impl Future<Output = ()>) {
        let own = Arc::new(WorkerWaker { thread: std::thread::current(), woken: AtomicBool::new(false) });
        let (waker, mut future) = (Waker::from(Arc::clone(&own)), pin!(future));
        let mut context = Context::from_waker(&waker);
        while future.as_mut().poll(&mut context).is_pending() {
            while !own.woken.swap(false, Ordering::AcqRel) {
                std::thread::park();
            }
        }
    }
}

impl Wake for WorkerWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let already = self.woken.swap(true, Ordering::AcqRel);
        // Only the thread that holds wake-ups back may rely on one that is held back.
        if !wakeups::hold_back_worker(&self.thread, already) {
            self.thread.unpark();
        }
    }
}
