//! What handlers hand over to the thread that serves everybody, several at a time. Each hand-over by itself is a system
//! call that wakes that thread, which then writes one line by itself; together they cost one of each. So on a worker they
//! are put off until no handler there can go on, which is soon, and are then done over there.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// So many are handed over at once, at most.
const MOST: usize = 32;
/// Older than this they do not wait for another handler's turn.
const LONGEST: Duration = Duration::from_micros(200);

type Act = Box<dyn FnOnce() + Send>;

/// What was put off on a thread.
struct Outbox {
    acts: Vec<Act>,
    since: Option<Instant>,
    courier: mpsc::UnboundedSender<Vec<Act>>,
}

thread_local! {
    static OUTBOX: RefCell<Option<Outbox>> = const { RefCell::new(None) };
}

/// From now on things may be put off on this thread, which must call [`flush`] before it sleeps.
pub(super) fn begin(runtime: &Handle) {
    let (courier, mut parcels) = mpsc::unbounded_channel::<Vec<Act>>();
    runtime.spawn(async move {
        while let Some(acts) = parcels.recv().await {
            acts.into_iter().for_each(|act| act());
        }
    });
    OUTBOX.with(|outbox| outbox.replace(Some(Outbox { acts: Vec::new(), since: None, courier })));
}

/// Does something that others only have to notice: from a worker soon, in the order it was asked for; elsewhere at once.
pub fn later(act: impl FnOnce() + Send + 'static) {
    let mut act = Some(act);
    let full = OUTBOX.with(|outbox| {
        let mut outbox = outbox.borrow_mut();
        let outbox = outbox.as_mut()?;
        outbox.acts.extend(act.take().map(|act| Box::new(act) as Act));
        outbox.since.get_or_insert_with(Instant::now);
        Some(outbox.acts.len() >= MOST)
    });
    match (act, full) {
        (Some(act), _) => act(),
        (None, Some(true)) => flush(),
        (None, _) => {}
    }
}

/// Hands over what was put off.
pub(super) fn flush() {
    OUTBOX.with(|outbox| {
        let mut outbox = outbox.borrow_mut();
        let Some(outbox) = outbox.as_mut().filter(|outbox| !outbox.acts.is_empty()) else { return };
        outbox.since = None;
        // If there is nobody any more to do it, nobody waits for it either.
        let _ = outbox.courier.send(std::mem::take(&mut outbox.acts));
    });
}

/// The same, if it has waited long enough.
pub(super) fn flush_if_old() {
    let since = OUTBOX.with(|outbox| outbox.borrow().as_ref().and_then(|outbox| outbox.since));
    if since.is_some_and(|since| since.elapsed() > LONGEST) {
        flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_put_off_is_done_in_order_and_never_too_much_of_it() {
        let (note, mut done) = mpsc::unbounded_channel();
        let put_off = |number: usize| {
            let note = note.clone();
            later(move || note.send(number).unwrap());
        };
        put_off(0);
        assert_eq!(done.try_recv(), Ok(0), "at once where nobody flushes");
        begin(&Handle::current());
        put_off(1);
        put_off(2);
        tokio::task::yield_now().await;
        assert!(done.try_recv().is_err());
        flush();
        assert_eq!((done.recv().await, done.recv().await), (Some(1), Some(2)));
        (0..MOST).for_each(put_off);
        for number in 0..MOST {
            assert_eq!(done.recv().await, Some(number));
        }
    }
}
