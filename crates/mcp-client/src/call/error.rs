//! Why a call has no result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use proxy_model::JournalSnapshot;
use proxy_wire::RpcError;

/// The reason of [`CallError::Down`] while the proxy stops.
pub(crate) const SHUTTING_DOWN: &str = "the proxy is shutting down";

/// The limit that ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// `timeout` of the server: there was no progress.
    Idle,
    /// `maxTimeout` of the server.
    Total,
    /// The caller's own timeout.
    Caller,
}

impl TimeLimit {
    /// Names the limit, so that a person can change it.
    fn of(self, backend: &str) -> String {
        match self {
            TimeLimit::Idle => format!("`mcpServers.{backend}.timeout`"),
            TimeLimit::Total => format!("`mcpServers.{backend}.maxTimeout`"),
            TimeLimit::Caller => "the call's own timeout".to_owned(),
        }
    }
}

/// Why a call has no result. Clients see these texts, so they contain no paths and no secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The backend responded with a JSON-RPC error.
    #[error("{0}")]
    Rpc(RpcError),
    /// The server works, but it cannot take this call.
    #[error("server `{backend}` is not available: {reason}")]
    Refused { backend: Arc<str>, reason: String },
    /// The item differs from what an operator approved, or nobody approved it.
    #[error("{0}")]
    Locked(String),
    /// A rule of `flow` stops the call, because of what the conversation has read, or the marks cannot be stored.
    #[error("{0}")]
    Stopped(String),
    /// The server is not connected.
    #[error("server `{backend}` is not available: {reason}")]
    Down { backend: Arc<str>, reason: String },
    /// The server is not connected before somebody logs in. The reason says what to run.
    #[error("server `{backend}` is not available: {reason}")]
    LoginNeeded { backend: Arc<str>, reason: String },
    /// The caller has to log in to an account of their own first. `url` is the page for that, if there is one; `reason` says
    /// why there is no log-in any more, or why the last attempt failed.
    #[error("log in at `{backend}` first: {advice}, then call again{}", in_parentheses(reason.as_deref()))]
    LogInFirst { backend: Arc<str>, advice: String, url: Option<String>, reason: Option<String> },
    /// The server works, and the account that the proxy is logged in with may not do this.
    #[error("server `{backend}` did not allow this: {reason}")]
    Forbidden { backend: Arc<str>, reason: String },
    #[error("server `{backend}` did not respond within {} s ({})", rounded_seconds(*after), limit.of(backend))]
    Timeout { backend: Arc<str>, after: Duration, limit: TimeLimit },
    /// The maximum time of a call passed while the call was queued, so it was never sent.
    #[error(
        "server `{backend}` is busy: the call was queued for {} s and was not sent (`maxConcurrent: {limit}`)",
        rounded_seconds(*after)
    )]
    Busy { backend: Arc<str>, limit: usize, after: Duration },
    /// The circuit breaker is open.
    #[error(
        "server `{backend}` is temporarily disabled after {} (last: {reason}); {}",
        consecutive(*failures),
        next_attempt(*again)
    )]
    CircuitOpen { backend: Arc<str>, failures: usize, reason: String, again: Duration },
    /// The connection or the task ended before there was a response.
    #[error("server `{backend}` failed before it responded: {reason}")]
    Lost { backend: Arc<str>, reason: String },
    #[error("server `{backend}` sent a response larger than {limit} bytes")]
    TooLarge { backend: Arc<str>, limit: usize },
    #[error("server `{backend}` sent an invalid MCP message: {reason}")]
    Protocol { backend: Arc<str>, reason: String },
    /// The server asked the client for input and did not get it.
    #[error("server `{backend}` requested input that is not available: {reason}")]
    InputUnavailable { backend: Arc<str>, reason: String },
    /// Nothing of that name is published.
    #[error("no such item is published")]
    Unknown,
    /// The proxy itself refuses the request with this error.
    #[error("{0}")]
    Rejected(RpcError),
    /// The script's handler of a resource or prompt failed; the failure of a tool is a result.
    #[error("{message}")]
    Failed { message: String, data: Option<Value> },
    /// A handler asks the client something. The call is repeated with the answers and this journal.
    #[error("the call is waiting for input")]
    Asks(JournalSnapshot),
    /// The call was cancelled: nobody waits for a response.
    #[error("the call was cancelled")]
    Cancelled,
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        CallError::Rejected(error)
    }
}

impl CallError {
    /// The server does not support subscriptions to resources.
    pub fn no_subscriptions(server: &str) -> Self {
        let message = format!("server `{server}` does not support resource subscriptions");
        CallError::Rpc(RpcError::invalid_params(&message))
    }
}

fn consecutive(failures: usize) -> String {
    if failures == 1 { "1 failure".to_owned() } else { format!("{failures} consecutive failures") }
}

/// What follows a sentence, if there is something.
fn in_parentheses(text: Option<&str>) -> String {
    text.map(|text| format!(" ({text})")).unwrap_or_default()
}

fn rounded_seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

fn next_attempt(delay: Duration) -> String {
    match delay.as_secs_f64().ceil() {
        0.0 => "a trial call is in progress".to_owned(),
        seconds => format!("next attempt in {seconds} s"),
    }
}
