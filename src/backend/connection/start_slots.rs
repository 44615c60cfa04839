//! Limits how many processes start at once: many servers that start together slow each other down until each of them
//! misses its `startTimeout`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The number of slots on a machine with few cores.
const MIN_SLOTS: usize = 4;
/// A server that takes longer to start waits for something other than the processor, so the next one may start.
const MAX_HOLD: Duration = Duration::from_secs(5);

/// The slots for servers that are starting, granted in the order of requests.
#[derive(Clone, Debug)]
pub struct StartSlots {
    slots: Arc<Semaphore>,
    max_hold: Duration,
}

impl StartSlots {
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new((2 * cores).max(MIN_SLOTS), MAX_HOLD)
    }

    fn new(slots: usize, max_hold: Duration) -> Self {
        StartSlots { slots: Arc::new(Semaphore::new(slots)), max_hold }
    }

    /// Waits for a slot.
    pub(crate) async fn take(&self) -> StartSlot {
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        let max_hold = self.max_hold;
        StartSlot(tokio::spawn(async move {
            let _permit = permit;
            tokio::time::sleep(max_hold).await;
        }))
    }
}

/// The slot of a starting server. It becomes free when this is dropped, and after [`MAX_HOLD`] at the latest.
#[derive(Debug)]
pub(crate) struct StartSlot(JoinHandle<()>);

impl Drop for StartSlot {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slot_is_free_when_its_server_is_ready() {
        let slots = StartSlots::new(2, Duration::from_secs(3600));
        let first = slots.take().await;
        let _second = slots.take().await;
        let mut third = std::pin::pin!(slots.take());
        assert!(futures::poll!(&mut third).is_pending(), "both slots are taken");
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn a_server_that_takes_long_does_not_keep_its_place() {
        let slots = StartSlots::new(1, Duration::from_millis(50));
        let _slow = slots.take().await;
        let mut next = std::pin::pin!(slots.take());
        assert!(futures::poll!(&mut next).is_pending(), "the slot is taken");
        next.await;
    }
}
