//! The one internal call, whatever era and transport the backend speaks.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::freshness::CacheHint;
use super::peer::Peer;
use super::subscriber;
use super::subscriptions::{Follower, Listener, Subscription};
use crate::json::Raw;
use crate::model::{BackendView, ItemKind, Owner};
use crate::script::Host;
use crate::wire::RpcError;

/// Anything that offers tools and can be called: a server, or local scripts.
pub trait Backend: Send + Sync {
    fn view(&self) -> Arc<BackendView>;
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, CallError>>;

    /// Follows a resource by the backend's own URI, until the subscription is dropped.
    fn subscribe<'a>(
        &'a self,
        _uri: &'a str,
        _: &'a Follower,
        _: Listener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>> {
        Box::pin(std::future::ready(Err(subscriber::unsupported(&self.view().name))))
    }

    /// How long its list may be kept by who asks now.
    fn cache_hint(&self, _: ItemKind) -> CacheHint {
        CacheHint::default()
    }

    /// Lists again what is older than the backend said it may become.
    fn refresh(&self, _: ItemKind) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Tells it something that has no answer. What cannot be told now is not told.
    fn notify(&self, _method: String, _params: Option<Raw>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The folders of a client have changed: told to the connection that is its own, if there is one.
    fn roots_changed<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether calls run in this process, as a part of whoever makes them.
    fn runs_here(&self) -> bool {
        false
    }

    /// The same call from a handler, which waits for it.
    fn call_blocking(&self, call: Call, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        crate::fiber::wait(self.call(call), runtime)
    }
}

/// A request on its way to a backend. `params` hold the backend's own names and no reserved `_meta` keys.
pub struct Call {
    /// The protocol's own cost nothing to name; others are what the client wrote.
    pub method: Cow<'static, str>,
    pub params: Raw,
    /// Shorter than the backend's own timeout, if somebody wants that.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    /// For whom it is made; none if the proxy makes it for itself, and nobody can be told or asked anything.
    pub peer: Option<Arc<dyn Peer>>,
    /// Whether a stateless backend's questions are the caller's to carry on, instead of being asked from here.
    pub passes_questions_on: bool,
    /// Whether a task is an answer to the caller; for all others the proxy waits until it has ended.
    pub takes_tasks: bool,
    /// Whether a stateless server is told that tasks are known here, whatever the client declared.
    pub declares_tasks: bool,
    /// The handler that makes it, for what runs in this process as a part of it.
    pub host: Option<Arc<Host>>,
}

/// A final result as the backend sent it.
#[derive(Debug)]
pub struct Answer {
    pub result: Raw,
}

fn counted(failures: usize) -> String {
    if failures == 1 { "1 failure".to_owned() } else { format!("{failures} failures") }
}

/// Seconds for a person: how long a wait was, without the noise of the clock.
fn hundredths(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

fn tried_again(again: Duration) -> String {
    match again.as_secs_f64().ceil() {
        0.0 => "one call is trying it right now".to_owned(),
        seconds => format!("it is tried again in {seconds} s"),
    }
}

/// Why a call has no result. The texts are for the client: no paths, no secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The backend answered with an error of its own.
    #[error("{0}")]
    Rpc(RpcError),
    /// It is there, but not for this caller.
    #[error("server `{backend}` is not available: {reason}")]
    Refused { backend: Arc<str>, reason: String },
    #[error("server `{backend}` is not available: {reason}")]
    Down { backend: Arc<str>, reason: String },
    #[error("server `{backend}` did not answer within {} s", hundredths(*after))]
    Timeout { backend: Arc<str>, after: Duration },
    /// The same for a call that had to wait before it was sent.
    #[error(
        "server `{backend}` did not answer within {} s, {} s of which the call waited for its turn (`maxConcurrent`)",
        hundredths(*after), hundredths(*queued)
    )]
    LateStart { backend: Arc<str>, after: Duration, queued: Duration },
    #[error(
        "server `{backend}` is busy: the call waited {} s for its turn behind others and was not sent (`maxConcurrent: {limit}`)",
        hundredths(*after)
    )]
    Busy { backend: Arc<str>, limit: usize, after: Duration },
    #[error(
        "server `{backend}` is not called for now: {} in a row, the last one: {reason}; {}",
        counted(*failures),
        tried_again(*again)
    )]
    Resting { backend: Arc<str>, failures: usize, reason: String, again: Duration },
    #[error("server `{backend}` ended before it answered: {reason}")]
    Lost { backend: Arc<str>, reason: String },
    #[error("server `{backend}` sent an answer larger than {limit} bytes")]
    TooLarge { backend: Arc<str>, limit: usize },
    #[error("server `{backend}` sent something that is not MCP: {reason}")]
    Protocol { backend: Arc<str>, reason: String },
    #[error("server `{backend}` needs an answer that it did not get: {reason}")]
    Unanswered { backend: Arc<str>, reason: String },
    #[error("the call was cancelled")]
    Cancelled,
    /// What runs in this process has a question; the call is made again when it is answered.
    #[error("the call waits for an answer")]
    Asks,
}
