//! A delay shared by many waits, most of which end before it elapses. Registering a timer that is due before all others
//! makes tokio's time driver unpark the runtime with a system call, which happened for almost every call. Here one timer
//! serves all waits of a serving thread: it is set for the oldest wait, and a wait that has ended by then costs nothing more.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::serving::{PerThread, serving_thread};

/// A delay of a fixed length.
#[derive(Clone, Debug)]
pub struct CommonDelay(Arc<DelayInner>);

#[derive(Debug)]
struct DelayInner {
    length: Duration,
    states: PerThread<Mutex<DelayState>>,
}

#[derive(Debug, Default)]
struct DelayState {
    /// In the order in which they end. A wait that is over has dropped its `Notify`.
    waits: VecDeque<(Instant, Weak<Notify>)>,
    /// Whether a task wakes them.
    ticking: bool,
}

impl CommonDelay {
    pub fn new(length: Duration) -> Self {
        CommonDelay(Arc::new(DelayInner { length, states: PerThread::default() }))
    }

    /// Waits for that long, on a thread of the runtime or with its handle entered.
    pub async fn elapsed(&self) {
        let over = Arc::new(Notify::new());
        let thread = serving_thread();
        let is_first = {
            let mut state = self.0.states.of(thread).lock();
            state.waits.push_back((Instant::now() + self.0.length, Arc::downgrade(&over)));
            !std::mem::replace(&mut state.ticking, true)
        };
        if is_first {
            // Without the lock: if the runtime is ending, the ticker is dropped at once, which takes the lock.
            tokio::spawn(Ticker { delay: Some(Arc::downgrade(&self.0)), thread }.run());
        }
        over.notified().await;
    }
}

impl DelayInner {
    /// Ends the waits of a thread that are due, and returns when the next one is due. Returns `None` if there is none; the
    /// ticker then stops.
    fn end_due(&self, thread: usize) -> Option<Instant> {
        let mut state = self.states.of(thread).lock();
        let now = Instant::now();
        while let Some((due, wait)) = state.waits.front() {
            match wait.upgrade() {
                Some(_) if *due > now => return Some(*due),
                Some(wait) => wait.notify_one(),
                None => {}
            }
            state.waits.pop_front();
        }
        state.ticking = false;
        None
    }
}

/// Wakes the waits of a delay on one thread.
struct Ticker {
    /// `None` once it has nothing left to wake.
    delay: Option<Weak<DelayInner>>,
    thread: usize,
}

impl Ticker {
    async fn run(mut self) {
        while let Some(due) = self.upgrade().and_then(|delay| delay.end_due(self.thread)) {
            tokio::time::sleep_until(due).await;
        }
        self.delay = None;
    }

    fn upgrade(&self) -> Option<Arc<DelayInner>> {
        self.delay.as_ref().and_then(Weak::upgrade)
    }
}

/// A ticker whose runtime ends has to be replaced.
impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some(delay) = self.upgrade() {
            delay.states.of(self.thread).lock().ticking = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn every_wait_takes_its_time_whatever_the_others_do() {
        let delay = CommonDelay::new(LENGTH);
        let waits = (0..6_u32).map(|number| {
            let delay = delay.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LENGTH / 3 * number).await;
                let started = Instant::now();
                // Every second one gives up at once.
                if number % 2 == 0 {
                    let mut waiting = std::pin::pin!(delay.elapsed());
                    let outcome = futures::poll!(waiting.as_mut());
                    return outcome.is_pending();
                }
                delay.elapsed().await;
                started.elapsed() >= LENGTH
            })
        });
        for (number, wait) in waits.collect::<Vec<_>>().into_iter().enumerate() {
            assert!(wait.await.unwrap(), "{number}");
        }
        let state = delay.0.states.of(0).lock();
        assert!(state.waits.len() <= 1, "what is over is forgotten");
    }

    #[test]
    fn a_delay_outlives_its_runtime() {
        let delay = CommonDelay::new(Duration::from_millis(1));
        for _ in 0..2 {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = delay.elapsed() => panic!("it is not over yet"),
                    () = std::future::ready(()) => {}
                }
            });
            drop(runtime);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(delay.elapsed());
    }

    #[test]
    fn a_wait_that_finds_no_runtime_does_not_block_the_others() {
        let delay = CommonDelay::new(Duration::from_millis(1));
        let other = delay.clone();
        let outcome = std::thread::spawn(move || futures::FutureExt::now_or_never(other.elapsed())).join();
        assert!(outcome.is_err(), "there is nothing to wait on");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(delay.elapsed());
    }
}
