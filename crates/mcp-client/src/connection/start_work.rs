//! Tells a process that is still starting from one that hangs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use proxy_base::process::WorkSample;

/// For how long a process is watched before it counts as hanging.
pub(super) const WINDOW: Duration = Duration::from_secs(5);
/// How long a process that is at work may take to start, whatever `startTimeout` says.
pub(super) const MAX_START: Duration = Duration::from_secs(10 * 60);

/// What the group of a process has done so far.
pub(super) async fn sample(process: u32) -> WorkSample {
    let sampled = tokio::task::spawn_blocking(move || WorkSample::of_group(process)).await;
    sampled.unwrap_or_else(|_| WorkSample::before_start())
}

/// Whether the group of a process is at work, by what it does within a window.
pub(super) async fn is_at_work(process: u32, window: Duration) -> bool {
    let before = sample(process).await;
    tokio::time::sleep(window).await;
    sample(process).await.since(&before).is_at_work()
}

/// The process of an attempt to connect. There may be a second one, if the first exits.
#[derive(Debug, Default)]
pub(super) struct StartingProcess(AtomicU32);

impl StartingProcess {
    pub(super) fn set(&self, process: Option<u32>) {
        self.0.store(process.unwrap_or_default(), Ordering::Relaxed);
    }

    async fn sample(&self) -> WorkSample {
        match self.0.load(Ordering::Relaxed) {
            0 => WorkSample::before_start(),
            process => sample(process).await,
        }
    }

    /// Completes when an attempt has taken `limit` and its processes have not been at work for a while, and after
    /// [`MAX_START`] in any case.
    pub(super) async fn overdue(&self, limit: Duration) {
        let (began, window) = (Instant::now(), WINDOW.min(limit));
        let last = limit.max(MAX_START);
        tokio::time::sleep(limit - window).await;
        loop {
            let before = self.sample().await;
            let left = last.saturating_sub(began.elapsed());
            tokio::time::sleep(window.min(left)).await;
            if left <= window || !self.sample().await.since(&before).is_at_work() {
                return;
            }
        }
    }
}
