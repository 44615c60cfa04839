//! What names an HTTP session.

use std::fmt;

use proxy_model::{Home, Sid};

/// The id of a session, and what is known from it. Whoever knows its text may use the session, so it is written nowhere.
#[derive(Clone)]
pub(crate) struct SessionId {
    pub(crate) text: String,
    /// The process that opened the session.
    pub(crate) home: Home,
    pub(crate) sid: Sid,
    /// When the session was opened, in milliseconds since 1970 by the clock of the store.
    pub(crate) born: u64,
    /// Whether the id, or the store, says what it takes to serve the session after it was forgotten.
    pub(crate) is_complete: bool,
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SessionId({})", self.sid.digest())
    }
}
