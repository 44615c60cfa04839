//! Limits how many processes start at once: many servers that start together slow each other down until each of them
//! misses its `startTimeout`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::start_work::sample;
use proxy_base::process::WorkSample;

/// The number of slots on a machine with few cores.
const MIN_SLOTS: usize = 4;
/// A server that takes longer to start usually waits for something other than a processor, so the next one may start.
const HOLD: Duration = Duration::from_secs(5);
/// How long a server that mostly runs keeps its slot.
const MAX_HOLD: Duration = Duration::from_secs(30);

/// The slots for servers that are starting, granted in the order of requests.
#[derive(Clone, Debug)]
pub struct StartSlots {
    slots: Arc<Semaphore>,
    hold: Duration,
    max_hold: Duration,
}

impl StartSlots {
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new((2 * cores).max(MIN_SLOTS), HOLD, MAX_HOLD)
    }

    fn new(slots: usize, hold: Duration, max_hold: Duration) -> Self {
        StartSlots { slots: Arc::new(Semaphore::new(slots)), hold, max_hold }
    }

    /// Waits for a slot.
    pub(crate) async fn take(&self) -> StartSlot {
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        let process = Arc::<OnceLock<u32>>::default();
        let (leader, slots) = (Arc::clone(&process), self.clone());
        let holding = tokio::spawn(async move {
            let _permit = permit;
            slots.hold(&leader).await;
        });
        StartSlot { holding, process }
    }

    /// Completes when a server has had its slot for long enough.
    async fn hold(&self, process: &OnceLock<u32>) {
        let (began, mut before) = (Instant::now(), WorkSample::before_start());
        while began.elapsed() < self.max_hold {
            tokio::time::sleep(self.hold).await;
            let Some(process) = process.get() else { return };
            let now = sample(*process).await;
            if !now.since(&before).is_mostly_running() {
                return;
            }
            before = now;
        }
    }
}

/// The slot of a starting server. It becomes free when this is dropped, and otherwise after [`HOLD`], or after [`MAX_HOLD`]
/// if the server mostly runs.
#[derive(Debug)]
pub(crate) struct StartSlot {
    holding: JoinHandle<()>,
    process: Arc<OnceLock<u32>>,
}

impl StartSlot {
    /// Names the process that was started in this slot.
    pub(crate) fn started(&self, process: Option<u32>) {
        if let Some(process) = process {
            let _ = self.process.set(process);
        }
    }
}

impl Drop for StartSlot {
    fn drop(&mut self) {
        self.holding.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_slot_is_free_when_its_server_is_ready() {
        let slots = StartSlots::new(2, LONG, LONG);
        let first = slots.take().await;
        let _second = slots.take().await;
        let mut third = std::pin::pin!(slots.take());
        assert!(futures::poll!(&mut third).is_pending(), "both slots are taken");
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn a_server_that_takes_long_does_not_keep_its_place() {
        let slots = StartSlots::new(1, Duration::from_millis(50), LONG);
        let _slow = slots.take().await;
        let mut next = std::pin::pin!(slots.take());
        assert!(futures::poll!(&mut next).is_pending(), "the slot is taken");
        next.await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_server_that_computes_keeps_its_place_for_a_while() {
        let mut computing = std::process::Command::new("sh");
        let computing = computing.args(["-c", "while :; do :; done"]).process_group(0);
        let mut computing = computing.spawn().unwrap();
        let slots = StartSlots::new(1, Duration::from_millis(400), Duration::from_millis(1500));
        let slow = slots.take().await;
        slow.started(Some(computing.id()));
        let began = Instant::now();
        let _next = slots.take().await;
        let waited = began.elapsed();
        computing.kill().unwrap();
        computing.wait().unwrap();
        assert!(waited >= Duration::from_millis(1500), "{waited:?}");
    }
}
