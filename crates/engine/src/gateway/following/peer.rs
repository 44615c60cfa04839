//! The client that a refresh runs for. It decides which server connections are used. It cannot receive messages or be asked
//! for input, because it has no running request.

use std::sync::Arc;

use futures::future::BoxFuture;

use proxy_json::{Raw, RawRef};
use proxy_mcp_client::{Peer, Question, SessionEnd, Subscriber};
use proxy_model::{Abilities, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

#[derive(Debug)]
pub(super) struct FollowerPeer(pub(super) Subscriber);

impl Peer for FollowerPeer {
    fn owner(&self) -> &Owner {
        &self.0.owner
    }

    fn person(&self) -> Owner {
        self.0.person.clone()
    }

    fn person_key(&self) -> Option<PersonKey> {
        self.0.person_key.clone()
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        None
    }

    fn era(&self) -> Era {
        self.0.profile.era
    }

    fn abilities(&self) -> Abilities {
        self.0.profile.abilities
    }

    fn askable(&self) -> Abilities {
        Abilities::default()
    }

    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        None
    }

    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn log(&self, _: &RawRef) {}

    fn notify(&self, _: &str, _: Option<&RawRef>) {}

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn hops(&self) -> Option<&str> {
        None
    }

    fn relays(&self) -> bool {
        false
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        Box::pin(std::future::ready(Err(RpcError::method_not_found(&question.method))))
    }

    fn supports(&self, _: &Question) -> bool {
        false
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        None
    }

    fn gone(&self) -> Option<SessionEnd> {
        self.0.gone.clone()
    }
}
