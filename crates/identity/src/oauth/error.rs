//! Why a log-in, or a log-out, did not happen.

/// Every text is for a person: it says what happened and what to do, and has no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogInError {
    /// Nobody logs in to this server: it has a `command`, a header `Authorization`, or another `auth.type`.
    #[error("{0}")]
    NotApplicable(String),
    /// The records cannot be read or written.
    #[error("{0}")]
    Storage(String),
    /// A server did not respond, or responded with a server error. A later attempt may succeed.
    #[error("{0}")]
    Unreachable(String),
    /// The metadata of the server or its authorization server cannot be used.
    #[error("{0}")]
    Metadata(String),
    /// There is no client to log in with.
    #[error("{0}")]
    Registration(String),
    /// The redirect is not the expected one. Another redirect may still arrive.
    #[error("{0}")]
    Callback(String),
    /// The authorization server, or the person there, refused.
    #[error("{0}")]
    Refused(String),
    /// Too many do the same. A later attempt may succeed.
    #[error("{0}")]
    Busy(String),
    /// The server keeps asking for scopes that earlier log-ins were not granted.
    #[error("{0}")]
    StepUp(String),
}
