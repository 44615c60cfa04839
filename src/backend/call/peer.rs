//! The one for whom a call is made, as far as a backend has to do with them.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::json::{Raw, RawRef};
use crate::model::{Abilities, Owner};
use crate::wire::{RpcError, Severity};

/// What has a default here is so for whoever is no client of a protocol.
pub trait Peer: Send + Sync + Debug {
    fn owner(&self) -> &Owner;

    /// What they can be asked at all: with whom they may share a connection.
    fn abilities(&self) -> Abilities;

    /// What may be asked of them in this call, at this moment.
    fn askable(&self) -> Abilities {
        self.abilities()
    }

    /// The capabilities of a stateless client, as it declared them for this very request.
    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn wants_progress(&self) -> bool {
        false
    }

    /// How serious a log message must be to be wanted; none if they said nothing about it.
    fn log_level(&self) -> Option<Severity> {
        None
    }

    /// Whether they understand the error that sends a person to an address, and will call again themselves.
    fn understands_url_error(&self) -> bool {
        false
    }

    /// Tells them of progress. Never waits: a reader that does not keep up loses progress, not results.
    fn progress(&self, _params: &RawRef) {}

    /// Tells them what the server logged, if they want to know. Never waits.
    fn log(&self, _params: &RawRef) {}

    /// Tells them something else the server said in the middle of the call. Never waits.
    fn tell(&self, _method: &str, _params: Option<&RawRef>) {}

    /// Asks them. Dropping the future takes the question back.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>>;

    /// Whether this form can be put to them, in this call, in their revision of the protocol.
    fn takes_form(&self, question: &Question) -> bool;

    /// The same client while no call of it runs; none if it cannot be reached then.
    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        None
    }

    /// Ends when their session has; none if they have none.
    fn gone(&self) -> Option<CancellationToken> {
        None
    }
}

/// What a server wants to know in the middle of a call.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: String,
    pub params: Raw,
    /// How long a person may take.
    pub patience: Duration,
}
