//! Actions that one thread hands over to the runtime of another. Waking a task of a runtime from another thread costs a system
//! call (the runtime's eventfd), and the other thread then does one thing at a time. So each thread has one task on each
//! other runtime, which runs everything that was handed over since it last ran.

use std::cell::Cell;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::serving::{PerThread, ThreadHandle};

type Action = Box<dyn FnOnce() + Send>;

thread_local! {
    /// From this thread to its tasks on the runtimes of the serving threads.
    static TASKS: PerThread<mpsc::UnboundedSender<Action>> = PerThread::default();
    /// Workers have no runtime of their own.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread a worker: from now on [`run_on_runtime`] hands its actions over.
pub(super) fn register_worker() {
    IS_WORKER.set(true);
}

/// Runs an action that wakes tasks of the runtime. A worker hands it over to the serving thread that it works for, which
/// runs the worker's actions in order; any other thread runs it in place.
pub fn run_on_runtime(action: impl FnOnce() + Send + 'static) {
    if IS_WORKER.get() { hand_over(&ThreadHandle::here(), action) } else { action() }
}

impl ThreadHandle {
    /// Runs an action that wakes tasks of this thread's runtime: in place on this thread, and otherwise there. Actions of
    /// one thread run in order.
    pub fn run(&self, action: impl FnOnce() + Send + 'static) {
        if self.is_current() && !IS_WORKER.get() { action() } else { hand_over(self, action) }
    }
}

fn hand_over(thread: &ThreadHandle, action: impl FnOnce() + Send + 'static) {
    let boxed = Box::new(action);
    let sent = TASKS.with(|tasks| tasks.of_or_init(thread.number(), || start_task(thread.runtime())).send(boxed));
    // The runtime has ended, and there is nobody left to wake.
    if let Err(mpsc::error::SendError(action)) = sent {
        action();
    }
}

/// Starts the task of this thread on a runtime.
fn start_task(runtime: &Handle) -> mpsc::UnboundedSender<Action> {
    let (sender, mut actions) = mpsc::unbounded_channel::<Action>();
    runtime.spawn(async move {
        while let Some(action) = actions.recv().await {
            action();
        }
    });
    sender
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_workers_actions_run_on_the_runtime_in_order() {
        let (note, mut done) = mpsc::unbounded_channel();
        let hand_over = |number: usize| {
            let note = note.clone();
            run_on_runtime(move || note.send(number).unwrap());
        };
        hand_over(0);
        assert_eq!(done.try_recv(), Ok(0), "in place on a thread that is no worker");
        register_worker();
        (1..100).for_each(hand_over);
        assert!(done.try_recv().is_err());
        for number in 1..100 {
            assert_eq!(done.recv().await, Some(number));
        }
    }
}
