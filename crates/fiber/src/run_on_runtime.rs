//! Actions that fibers hand over to the runtime of their serving thread. Waking a task of a runtime from another thread costs
//! a system call (the runtime's eventfd), and the serving thread then writes one message at a time. So each worker has one
//! task on each runtime, which runs everything that the worker has handed over since the task last ran.

use std::cell::OnceCell;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::serving::PerThread;

type Action = Box<dyn FnOnce() + Send>;

thread_local! {
    /// From this worker to its tasks on the runtimes of the serving threads; unset on all other threads.
    static ACTIONS: OnceCell<PerThread<mpsc::UnboundedSender<Action>>> = const { OnceCell::new() };
}

/// Makes the calling thread a worker: from now on [`run_on_runtime`] hands its actions over.
pub(super) fn register_worker() {
    // A thread registers once.
    let _ = ACTIONS.with(|slot| slot.set(PerThread::default()));
}

/// Runs an action that wakes tasks of the runtime. A worker hands it over to the serving thread that it works for, which
/// runs the worker's actions in order; any other thread runs it in place.
pub fn run_on_runtime(action: impl FnOnce() + Send + 'static) {
    ACTIONS.with(|senders| match senders.get() {
        None => action(),
        // If the runtime is gone, so are the tasks that the action would wake.
        Some(senders) => drop(senders.get_or_init(start_task).send(Box::new(action))),
    });
}

/// Starts the task of this worker on the runtime that it works for.
fn start_task() -> mpsc::UnboundedSender<Action> {
    let (sender, mut actions) = mpsc::unbounded_channel::<Action>();
    Handle::current().spawn(async move {
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
