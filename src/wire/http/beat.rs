//! While requests come there is always a timer that ends soon. One that is set while an earlier one is pending is only
//! noted; without that, the first ones after a rest each wake the thread that is just setting them, by a system call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Sooner than all that is set for a request.
const SOON: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct Beat {
    busy: AtomicBool,
    begins: Notify,
}

impl Beat {
    /// A request has come.
    pub(super) fn note(&self) {
        if !self.busy.swap(true, Ordering::Relaxed) {
            self.begins.notify_one();
        }
    }

    /// Goes on for ever, and rests while nobody comes.
    pub(super) async fn run(&self) {
        loop {
            self.begins.notified().await;
            while self.busy.swap(false, Ordering::Relaxed) {
                tokio::time::sleep(SOON).await;
            }
        }
    }
}
