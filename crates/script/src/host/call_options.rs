//! Options for calling a backend's item from a handler.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The options of one call.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// The handler's own timeout. The backend's limits apply as well.
    pub timeout: Option<Duration>,
    pub relay: Relay,
    /// Cancelled when nobody waits for the result any more, although the request goes on.
    pub until: Option<CancellationToken>,
    /// The tool of a search index whose handler makes the call. `None` if it is the handler of the published item.
    pub via: Option<Arc<str>>,
    /// The number of the policies that have allowed this very call already.
    pub permitted_by: Option<u64>,
    /// Whether the error result for a JSON-RPC error with the code for invalid params has that code in its `_meta`.
    pub marks_invalid_params: bool,
}

/// Which messages that the backend sends during the call reach the client. Questions always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relay {
    Nothing,
    Progress,
    #[default]
    ProgressAndLog,
}
