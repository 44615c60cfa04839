//! The client of a handler, as a server sees it that the handler calls: it can be asked, and it is told what was logged,
//! but the progress of one of several calls is not the progress of the whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::backend::{Peer, Question};
use crate::json::{Raw, RawRef};
use crate::model::{Abilities, Owner};
use crate::wire::{RpcError, Severity};

#[derive(Debug)]
pub(super) struct HandlerPeer {
    pub(super) peer: Arc<dyn Peer>,
    /// How often somebody was to be asked something.
    pub(super) asked: Arc<AtomicU64>,
}

impl Peer for HandlerPeer {
    fn owner(&self) -> &Owner {
        self.peer.owner()
    }

    fn abilities(&self) -> Abilities {
        self.peer.abilities()
    }

    fn askable(&self) -> Abilities {
        self.peer.askable()
    }

    /// Only what the proxy itself can carry through a handler.
    fn declared(&self) -> Option<&RawRef> {
        None
    }

    /// Not to be told of it, but because it keeps the call alive.
    fn wants_progress(&self) -> bool {
        true
    }

    fn log_level(&self) -> Option<Severity> {
        self.peer.log_level()
    }

    /// A handler cannot be called again by its client in the middle.
    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn log(&self, params: &RawRef) {
        self.peer.log(params);
    }

    fn tell(&self, method: &str, params: Option<&RawRef>) {
        self.peer.tell(method, params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
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
