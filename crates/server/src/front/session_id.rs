//! What names an HTTP session.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use proxy_model::{Home, Sid};

/// The id of a session, and what is known from it. Whoever knows its text may use the session, so it is written nowhere.
#[derive(Clone)]
pub(crate) struct SessionId {
    pub(super) text: String,
    /// The process that opened the session.
    pub(super) home: Home,
    pub(super) sid: Sid,
    /// When the session was opened, in milliseconds since 1970.
    pub(super) born: u64,
    /// Whether the id says what it takes to serve the session after it was forgotten.
    pub(super) is_complete: bool,
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SessionId({})", self.sid.digest())
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
