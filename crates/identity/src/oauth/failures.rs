//! Token requests that failed for now.

use std::time::Duration;

use tokio::time::Instant;

use proxy_base::backoff::Backoff;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// The last failure, and until when it stands for an answer of the authorization server.
#[derive(Debug)]
pub(crate) struct TokenFailures {
    backoff: Backoff,
    last: Option<(Instant, String)>,
}

impl Default for TokenFailures {
    fn default() -> Self {
        TokenFailures { backoff: Backoff::new(FIRST_DELAY, MAX_DELAY), last: None }
    }
}

impl TokenFailures {
    pub(super) fn add(&mut self, error: String) {
        self.last = Some((Instant::now() + self.backoff.next_delay(), error));
    }

    pub(super) fn clear(&mut self) {
        self.backoff.reset();
        self.last = None;
    }

    /// The error of the last attempt, if it is too early for another.
    pub(super) fn standing(&self) -> Option<String> {
        self.last.as_ref().filter(|(until, _)| Instant::now() < *until).map(|(_, error)| error.clone())
    }
}
