//! The time by which sessions are born and end: that of the store, where one is shared. Processes whose clocks differ agree on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// How long the first session waits for the store's time, once, if the store is slow.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time of the store. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreTime(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// What the store's clock is ahead of ours, in milliseconds.
    ahead: AtomicI64,
    is_awaited: watch::Sender<bool>,
}

impl StoreTime {
    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        local().saturating_add_signed(self.0.ahead.load(Ordering::Relaxed))
    }

    /// The store's clock will be known soon.
    pub(super) fn expect(&self) {
        self.0.is_awaited.send_replace(true);
    }

    /// The store's clock shows `milliseconds` now.
    pub(super) fn set(&self, milliseconds: u64) {
        self.0.ahead.store(milliseconds.cast_signed().wrapping_sub(local().cast_signed()), Ordering::Relaxed);
        self.0.is_awaited.send_replace(false);
    }

    /// Waits for a short time until the store's clock is known.
    pub(crate) async fn known(&self) {
        if !*self.0.is_awaited.borrow() {
            return;
        }
        let mut awaited = self.0.is_awaited.subscribe();
        let is_known = awaited.wait_for(|is_awaited| !is_awaited);
        if tokio::time::timeout(PATIENCE, is_known).await.is_err() {
            // The next session does not wait: the store is away.
            self.0.is_awaited.send_replace(false);
        }
    }
}

fn local() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_clock_of_the_store_counts_once_it_is_known() {
        let time = StoreTime::default();
        time.known().await;
        assert!(time.now() <= local());
        time.expect();
        let mut waiting = std::pin::pin!(time.known());
        assert!(futures::poll!(&mut waiting).is_pending());
        time.set(local() + 3_600_000);
        waiting.await;
        assert!(time.now() > local() + 3_590_000);
        time.set(1000);
        assert!(time.now() < 60_000, "{}", time.now());
    }
}
