//! The peer of a backend call that a handler makes. It passes questions and log messages on to the handler's client.
//! Progress is not passed on: the progress of one of several calls is not the progress of the handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::backend::{Peer, Question};
use crate::json::{Raw, RawRef};
use crate::model::{Abilities, Era, Owner};
use crate::wire::{LoggingLevel, RpcError};

/// Wraps the peer of the handler's request.
#[derive(Debug)]
pub(super) struct HandlerPeer {
    pub(super) peer: Arc<dyn Peer>,
    /// The number of questions so far, by the handlers and the servers of the request.
    pub(super) question_count: Arc<AtomicU64>,
}

impl Peer for HandlerPeer {
    fn owner(&self) -> &Owner {
        self.peer.owner()
    }

    fn person(&self) -> Owner {
        self.peer.person()
    }

    fn era(&self) -> Era {
        self.peer.era()
    }

    fn abilities(&self) -> Abilities {
        self.peer.abilities()
    }

    fn askable(&self) -> Abilities {
        self.peer.askable()
    }

    /// None: towards the server, the proxy declares only the capabilities that work through a handler.
    fn declared(&self) -> Option<&RawRef> {
        None
    }

    /// Progress is requested although it is not passed on: it extends the timeout of the call.
    fn wants_progress(&self) -> bool {
        true
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        self.peer.log_level()
    }

    /// False: the client cannot retry a single call in the middle of a handler.
    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn log(&self, params: &RawRef) {
        self.peer.log(params);
    }

    fn notify(&self, method: &str, params: Option<&RawRef>) {
        self.peer.notify(method, params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        self.question_count.fetch_add(1, Ordering::Relaxed);
        self.peer.ask(question)
    }

    fn supports_form(&self, question: &Question) -> bool {
        self.peer.supports_form(question)
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        self.peer.between_calls()
    }

    fn gone(&self) -> Option<CancellationToken> {
        self.peer.gone()
    }
}
