//! How a handler uses an item of a backend.

use std::time::Duration;

/// The options of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The handler's own timeout. The backend's limits apply as well.
    pub timeout: Option<Duration>,
    pub relay: Relay,
}

/// Which messages that the backend sends during the call reach the client. Questions always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relay {
    Nothing,
    Progress,
    #[default]
    ProgressAndLog,
}
