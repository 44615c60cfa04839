//! What handlers hand over to the thread that serves everybody. Whoever wakes something there from another thread pays a
//! system call for each, and that thread then writes one line at a time. So there is one who is woken, and does all that
//! has come until then.

use std::cell::OnceCell;

use tokio::runtime::Handle;
use tokio::sync::mpsc;

type Act = Box<dyn FnOnce() + Send>;

thread_local! {
    /// The way from this worker to the other thread; none on threads that are no workers.
    static WAY: OnceCell<mpsc::UnboundedSender<Act>> = const { OnceCell::new() };
}

/// From now on what this thread hands over is done by the runtime's.
pub(super) fn begin(runtime: &Handle) {
    let (way, mut acts) = mpsc::unbounded_channel::<Act>();
    runtime.spawn(async move {
        while let Some(act) = acts.recv().await {
            act();
        }
    });
    // A thread is a worker once.
    let _ = WAY.with(|slot| slot.set(way));
}

/// Does something that is for others to notice: from a worker over there, in the order it was asked for; elsewhere here.
pub fn run_on_runtime(act: impl FnOnce() + Send + 'static) {
    WAY.with(|way| match way.get() {
        None => act(),
        // If there is nobody any more to do it, nobody waits for it either.
        Some(way) => drop(way.send(Box::new(act))),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_handed_over_is_done_elsewhere_and_in_order() {
        let (note, mut done) = mpsc::unbounded_channel();
        let hand = |number: usize| {
            let note = note.clone();
            run_on_runtime(move || note.send(number).unwrap());
        };
        hand(0);
        assert_eq!(done.try_recv(), Ok(0), "at once where there is nobody else");
        begin(&Handle::current());
        (1..100).for_each(hand);
        assert!(done.try_recv().is_err());
        for number in 1..100 {
            assert_eq!(done.recv().await, Some(number));
        }
    }
}
