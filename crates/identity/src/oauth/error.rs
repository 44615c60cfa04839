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
    /// A server did not answer, or only with errors of its own: later it may.
    #[error("{0}")]
    Unreachable(String),
    /// What the server or its authorization server says about itself cannot be used.
    #[error("{0}")]
    Metadata(String),
    /// There is no client to log in with.
    #[error("{0}")]
    Registration(String),
    /// The redirect is not the one that was awaited. A later one may be.
    #[error("{0}")]
    Callback(String),
    /// The authorization server, or the person there, refused.
    #[error("{0}")]
    Refused(String),
    /// The server keeps asking for scopes that log-ins did not bring.
    #[error("{0}")]
    StepUp(String),
}
