//! Follows the log-in at a server, so that a new one is taken up at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::transport::{LogIn, Signals};
use crate::backoff::Backoff;

/// The delays if one change follows another.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);
/// After this time without a change the next one is taken up at once again.
const QUIET_TIME: Duration = Duration::from_secs(2 * 60);

/// The changes of a log-in, taken up less and less often if they follow each other: each attempt may itself change what is
/// known about the log-in, and must not cause the next one without a pause.
#[derive(Debug)]
pub(super) struct LogInChanges {
    backoff: Backoff,
    last: Option<Instant>,
}

impl Default for LogInChanges {
    fn default() -> Self {
        LogInChanges { backoff: Backoff::new(FIRST_DELAY, MAX_DELAY), last: None }
    }
}

impl LogInChanges {
    /// Completes when there is another log-in, by [`LogIn::changed`].
    pub(super) async fn take_up(&mut self, changed: impl Future<Output = ()>) {
        changed.await;
        match self.last {
            Some(last) if last.elapsed() < QUIET_TIME => tokio::time::sleep(self.backoff.next_delay()).await,
            _ => self.backoff.reset(),
        }
        self.last = Some(Instant::now());
    }
}

/// Lists everything again when there is another log-in: another account, or one with more scopes, may see something else.
pub(super) async fn relist_on_change(log_in: Arc<LogIn>, signals: Arc<Signals>) {
    let mut changes = LogInChanges::default();
    loop {
        changes.take_up(log_in.changed()).await;
        signals.mark_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_taken_up_at_once_unless_it_follows_another() {
        let (mut changes, start) = (LogInChanges::default(), Instant::now());
        let mut times = Vec::new();
        for _ in 0..4 {
            changes.take_up(std::future::ready(())).await;
            times.push(start.elapsed().as_secs());
        }
        assert_eq!(times, [0, 1, 3, 7]);
        tokio::time::sleep(QUIET_TIME).await;
        let later = Instant::now();
        changes.take_up(std::future::ready(())).await;
        assert_eq!(later.elapsed().as_secs(), 0);
    }
}
