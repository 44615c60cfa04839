//! A future that is polled again only after it was woken.
//!
//! hyper polls the response future whenever it polls the connection, for instance after reading the request body. If the
//! future combines many others, such a spurious poll costs as much as one that makes progress.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

pub(super) struct WokenOnly<F> {
    /// Pinned or boxed, so that it is not moved with this.
    future: F,
    wakeup: Arc<Wakeup>,
    /// The same, as the future knows it.
    waker: Waker,
}

impl<F: Future + Unpin> WokenOnly<F> {
    pub(super) fn new(future: F) -> Self {
        let wakeup = Arc::new(Wakeup { task: AtomicWaker::new(), is_due: AtomicBool::new(true) });
        WokenOnly { future, waker: Arc::clone(&wakeup).into(), wakeup }
    }
}

impl<F: Future + Unpin> Future for WokenOnly<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Before the check, so that a wake-up in between is not lost.
        this.wakeup.task.register(context.waker());
        if !this.wakeup.is_due.swap(false, Ordering::SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker))
    }
}

#[derive(Debug)]
struct Wakeup {
    task: AtomicWaker,
    is_due: AtomicBool,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_due.store(true, Ordering::SeqCst);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::pin;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_future_is_polled_once_for_each_wake_up() {
        let (sender, mut receiver) = oneshot::channel();
        let polls = Cell::new(0);
        let mut future = WokenOnly::new(poll_fn(|context| {
            polls.set(polls.get() + 1);
            Pin::new(&mut receiver).poll(context)
        }));
        for _ in 0..3 {
            assert!(futures::poll!(&mut future).is_pending());
        }
        sender.send(7).unwrap();
        assert_eq!(future.await, Ok(7));
        assert_eq!(polls.get(), 2);
    }

    #[tokio::test]
    async fn a_future_that_wakes_itself_goes_on() {
        let yielding = pin!(async {
            tokio::task::yield_now().await;
            7
        });
        assert_eq!(WokenOnly::new(yielding).await, 7);
    }
}
