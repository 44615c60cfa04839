//! The peer of a backend call that a handler makes. Forwards server requests to the handler's client, and progress and log
//! messages if the handler relays them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

use super::progress::CallProgress;
use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{Peer, PeerLayer, Question};
use proxy_model::is_protocol_method;
use proxy_script::Relay;
use proxy_wire::{LoggingLevel, RpcError};

/// Wraps the peer of the handler's request.
#[derive(Debug)]
pub(in crate::calls) struct HandlerPeer {
    pub(in crate::calls) peer: Arc<dyn Peer>,
    /// The number of questions so far, by the handlers and the servers of the request.
    pub(in crate::calls) question_count: Arc<AtomicU64>,
    pub(in crate::calls) relay: Relay,
    pub(in crate::calls) progress: Arc<CallProgress>,
}

impl HandlerPeer {
    fn relays_all(&self) -> bool {
        self.relay == Relay::ProgressAndLog
    }
}

impl PeerLayer for HandlerPeer {
    fn inner(&self) -> &Arc<dyn Peer> {
        &self.peer
    }

    /// None: towards the server, the proxy declares only the capabilities that work through a handler.
    fn declared(&self) -> Option<&RawRef> {
        None
    }

    /// Progress is requested even if it is not passed on: it extends the timeout of the call.
    fn wants_progress(&self) -> bool {
        true
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        self.relays_all().then(|| self.peer.log_level()).flatten()
    }

    /// False: the client cannot retry a single call in the middle of a handler.
    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, params: &RawRef) {
        if self.peer.wants_progress() {
            self.progress.relay(self.peer.as_ref(), params);
        }
    }

    fn log(&self, params: &RawRef) {
        if self.relays_all() {
            self.peer.log(params);
        }
    }

    /// What MCP defines concerns questions, which are always passed on. Anything else may say as much as a log message.
    fn notify(&self, method: &str, params: Option<&RawRef>) {
        if self.relays_all() || is_protocol_method(method) {
            self.peer.notify(method, params);
        }
    }

    fn relays(&self) -> bool {
        self.relays_all()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        self.question_count.fetch_add(1, Ordering::Relaxed);
        self.peer.ask(question)
    }
}
