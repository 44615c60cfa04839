//! The one internal call, whatever era and transport the backend speaks.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::freshness::Keeping;
use super::subscriber;
use super::subscriptions::{Listener, Subscription};
use crate::json::Raw;
use crate::model::{BackendView, ItemKind};
use crate::wire::RpcError;

/// Anything that offers tools and can be called: a server, or local scripts.
pub trait Backend: Send + Sync {
    fn view(&self) -> Arc<BackendView>;
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, CallError>>;

    /// Follows a resource by the backend's own URI, until the subscription is dropped.
    fn subscribe<'a>(&'a self, _uri: &'a str, _: Listener) -> BoxFuture<'a, Result<Subscription, CallError>> {
        Box::pin(std::future::ready(Err(subscriber::unsupported(&self.view().name))))
    }

    /// How long its list may be kept by who asks now.
    fn keeping(&self, _: ItemKind) -> Keeping {
        Keeping::default()
    }

    /// Lists again what is older than the backend said it may become.
    fn refresh(&self, _: ItemKind) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The same call from a handler, which waits for it.
    fn call_blocking(&self, call: Call, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        crate::script::wait(self.call(call), runtime)
    }
}

/// A request on its way to a backend. `params` hold the backend's own names and no reserved `_meta` keys.
#[derive(Debug)]
pub struct Call {
    pub method: &'static str,
    pub params: Raw,
    /// Shorter than the backend's own timeout, if somebody wants that.
    pub timeout: Option<Duration>,
    /// Where progress goes; without it the backend is not asked for any.
    pub progress: Option<ProgressSink>,
    pub cancel: CancellationToken,
    /// What the client can answer, as a stateless client declared it for this very request.
    pub capabilities: Option<Raw>,
    /// The log level a stateless client asked for.
    pub log_level: Option<Raw>,
}

/// A final result as the backend sent it.
#[derive(Debug)]
pub struct Answer {
    pub result: Raw,
}

/// The params of one progress notification.
pub type Progress = Raw;

/// The way progress takes back to whoever waits for the call.
#[derive(Clone, Debug)]
pub struct ProgressSink(mpsc::Sender<Progress>);

impl ProgressSink {
    /// Never blocks: a reader that does not keep up loses progress, not results, and holds up nobody else.
    pub fn push(&self, progress: Progress) {
        if self.0.try_send(progress).is_err() {
            tracing::debug!("progress dropped: its reader does not keep up");
        }
    }
}

pub fn progress_channel() -> (ProgressSink, mpsc::Receiver<Progress>) {
    let (sender, receiver) = mpsc::channel(1024);
    (ProgressSink(sender), receiver)
}

/// Seconds for a person: how long a wait was, without the noise of the clock.
fn hundredths(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

/// Why a call has no result. The texts are for the client: no paths, no secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The backend answered with an error of its own.
    #[error("{0}")]
    Rpc(RpcError),
    #[error("server `{backend}` is not available: {reason}")]
    Down { backend: Arc<str>, reason: String },
    #[error("server `{backend}` did not answer within {} s", hundredths(*after))]
    Timeout { backend: Arc<str>, after: Duration },
    #[error("server `{backend}` ended before it answered: {reason}")]
    Lost { backend: Arc<str>, reason: String },
    #[error("server `{backend}` sent an answer larger than {limit} bytes")]
    TooLarge { backend: Arc<str>, limit: usize },
    #[error("server `{backend}` sent something that is not MCP: {reason}")]
    Protocol { backend: Arc<str>, reason: String },
    #[error("the call was cancelled")]
    Cancelled,
}
