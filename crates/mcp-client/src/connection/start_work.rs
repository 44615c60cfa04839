//! Tells a process that is still starting from one that hangs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use proxy_base::process::WorkSample;

/// For how long a process is watched before it counts as hanging.
pub(super) const WINDOW: Duration = Duration::from_secs(5);
/// How long a process that is at work may take to start, whatever `startTimeout` says.
pub(super) const MAX_START: Duration = Duration::from_secs(5 * 60);

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
        let began = Instant::now();
        let windows = Windows::of(limit);
        tokio::time::sleep(limit - windows.length).await;
        loop {
            let before = self.sample().await;
            let (length, is_last) = windows.next(began.elapsed());
            tokio::time::sleep(length).await;
            if is_last || !self.sample().await.since(&before).is_at_work() {
                return;
            }
        }
    }
}

/// The times in which a process is watched, one after the other.
struct Windows {
    length: Duration,
    /// When the last one ends.
    last: Duration,
}

impl Windows {
    /// Of a process that may take this long even if it does nothing.
    fn of(limit: Duration) -> Self {
        Windows { length: WINDOW.min(limit), last: limit.max(MAX_START) }
    }

    /// The length of the next one, and whether it is the last, of a process that was started so long ago.
    fn next(&self, elapsed: Duration) -> (Duration, bool) {
        let left = self.last.saturating_sub(elapsed);
        (self.length.min(left), left <= self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many seconds a process gets that is at work for so many. No time passes but that of the windows.
    fn given(limit: u64, at_work: u64) -> u64 {
        let windows = Windows::of(Duration::from_secs(limit));
        let mut time = Duration::from_secs(limit) - windows.length;
        loop {
            let (length, is_last) = windows.next(time);
            time += length;
            if is_last || time.as_secs() > at_work {
                return time.as_secs();
            }
        }
    }

    #[test]
    fn a_process_that_is_at_work_has_five_minutes() {
        assert_eq!(given(30, 3600), 300);
        assert_eq!(given(30, 40), 45, "one that has done nothing for a while has less");
        assert_eq!(given(30, 0), 30);
        assert_eq!(given(299, 3600), 300);
        assert_eq!(given(2, 3600), 300);
        assert_eq!(given(900, 3600), 900, "`startTimeout` may be longer");
    }
}
