//! Watches a server's log-in, so that a new one is used at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::transport::{LogIn, Signals};
use proxy_base::backoff::Backoff;

/// The delays if one change follows another.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);
/// After this long without a change, the proxy reacts to the next one at once again.
const QUIET_TIME: Duration = Duration::from_secs(2 * 60);

/// Paces the reactions to log-in changes, with growing delays if changes follow each other: each attempt may itself change
/// the stored log-in, and must not trigger the next attempt without a pause.
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
        tokio::time::sleep_until(self.due(Instant::now())).await;
    }

    /// When a change of this moment is taken up.
    fn due(&mut self, now: Instant) -> Instant {
        let due = match self.last {
            Some(last) if now < last + QUIET_TIME => now + self.backoff.next_delay(),
            _ => {
                self.backoff.reset();
                now
            }
        };
        self.last = Some(due);
        due
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

    #[test]
    fn a_change_is_taken_up_at_once_unless_it_follows_another() {
        let (mut changes, mut now) = (LogInChanges::default(), Instant::now());
        let delays = [0; 4].map(|_| {
            let due = changes.due(now);
            let delay = due - now;
            now = due;
            delay.as_secs()
        });
        assert_eq!(delays, [0, 1, 2, 4]);
        now += QUIET_TIME;
        assert_eq!(changes.due(now), now, "after a while");
    }
}
