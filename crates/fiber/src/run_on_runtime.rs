//! Actions that fibers hand over to the runtime thread. Waking a task of the runtime from another thread costs a system
//! call (the runtime's eventfd), and the runtime thread then writes one message at a time. So each worker has one task
//! there, which runs everything that the worker has handed over since the task last ran.

use std::cell::OnceCell;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

type Action = Box<dyn FnOnce() + Send>;

thread_local! {
    /// From this worker to its task on the runtime; unset on all other threads.
    static ACTIONS: OnceCell<mpsc::UnboundedSender<Action>> = const { OnceCell::new() };
}

/// Makes the calling thread a worker: from now on [`run_on_runtime`] hands its actions over to `runtime`.
pub(super) fn register_worker(runtime: &Handle) {
    let (sender, mut actions) = mpsc::unbounded_channel::<Action>();
    runtime.spawn(async move {
        while let Some(action) = actions.recv().await {
            action();
        }
    });
    // A thread registers once.
    let _ = ACTIONS.with(|slot| slot.set(sender));
}

/// Runs an action that wakes tasks of the runtime. A worker hands it over to the runtime thread, which runs the actions of
/// a worker in order; any other thread runs it in place.
pub fn run_on_runtime(action: impl FnOnce() + Send + 'static) {
    ACTIONS.with(|sender| match sender.get() {
        None => action(),
        // If the runtime is gone, so are the tasks that the action would wake.
        Some(sender) => drop(sender.send(Box::new(action))),
    });
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
        register_worker(&Handle::current());
        (1..100).for_each(hand_over);
        assert!(done.try_recv().is_err());
        for number in 1..100 {
            assert_eq!(done.recv().await, Some(number));
        }
    }
}
