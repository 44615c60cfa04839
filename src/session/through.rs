//! The client of a handler, as a server sees it that the handler calls: it can be asked, and it is told what was logged,
//! but the progress of one of several calls is not the progress of the whole.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::backend::{Party, Question};
use crate::json::{Raw, RawRef};
use crate::model::{Abilities, Owner};
use crate::wire::{RpcError, Severity};

#[derive(Debug)]
pub(super) struct Through(pub(super) Arc<dyn Party>);

impl Party for Through {
    fn owner(&self) -> &Owner {
        self.0.owner()
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }

    fn askable(&self) -> Abilities {
        self.0.askable()
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
        self.0.log_level()
    }

    /// A handler cannot be called again by its client in the middle.
    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn log(&self, params: &RawRef) {
        self.0.log(params);
    }

    fn tell(&self, method: &str, params: Option<&RawRef>) {
        self.0.tell(method, params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        self.0.ask(question)
    }

    fn takes_form(&self, question: &Question) -> bool {
        self.0.takes_form(question)
    }

    fn between_calls(&self) -> Option<Arc<dyn Party>> {
        self.0.between_calls()
    }

    fn gone(&self) -> Option<CancellationToken> {
        self.0.gone()
    }
}
