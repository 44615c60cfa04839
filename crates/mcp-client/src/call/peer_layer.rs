//! A peer that stands before another one and changes a part of what passes.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::peer::{Peer, Question};
use super::session_end::SessionEnd;
use proxy_json::{Raw, RawRef};
use proxy_model::{Abilities, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

/// Forwards to another peer. What carries words has no default implementation: a layer must not forget to look at it.
pub trait PeerLayer: Send + Sync + std::fmt::Debug {
    fn inner(&self) -> &Arc<dyn Peer>;

    /// See [`Peer::progress`].
    fn progress(&self, params: &RawRef);

    /// See [`Peer::log`].
    fn log(&self, params: &RawRef);

    /// See [`Peer::notify`].
    fn notify(&self, method: &str, params: Option<&RawRef>);

    /// See [`Peer::ask`].
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>>;

    /// See [`Peer::declared`].
    fn declared(&self) -> Option<&RawRef> {
        self.inner().declared()
    }

    /// See [`Peer::wants_progress`].
    fn wants_progress(&self) -> bool {
        self.inner().wants_progress()
    }

    /// See [`Peer::log_level`].
    fn log_level(&self) -> Option<LoggingLevel> {
        self.inner().log_level()
    }

    /// See [`Peer::understands_url_error`].
    fn understands_url_error(&self) -> bool {
        self.inner().understands_url_error()
    }

    /// See [`Peer::relays`].
    fn relays(&self) -> bool {
        self.inner().relays()
    }

    /// See [`Peer::guarding`].
    fn guarding(&self, other: Arc<dyn Peer>) -> Arc<dyn Peer> {
        self.inner().guarding(other)
    }
}

impl<L: PeerLayer> Peer for L {
    fn owner(&self) -> &Owner {
        self.inner().owner()
    }

    fn person(&self) -> Owner {
        self.inner().person()
    }

    fn person_key(&self) -> Option<PersonKey> {
        self.inner().person_key()
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        self.inner().proxy_profile()
    }

    fn era(&self) -> Era {
        self.inner().era()
    }

    fn abilities(&self) -> Abilities {
        self.inner().abilities()
    }

    fn askable(&self) -> Abilities {
        self.inner().askable()
    }

    fn declared(&self) -> Option<&RawRef> {
        PeerLayer::declared(self)
    }

    fn wants_progress(&self) -> bool {
        PeerLayer::wants_progress(self)
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        PeerLayer::log_level(self)
    }

    fn understands_url_error(&self) -> bool {
        PeerLayer::understands_url_error(self)
    }

    fn progress(&self, params: &RawRef) {
        PeerLayer::progress(self, params);
    }

    fn log(&self, params: &RawRef) {
        PeerLayer::log(self, params);
    }

    fn notify(&self, method: &str, params: Option<&RawRef>) {
        PeerLayer::notify(self, method, params);
    }

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        self.inner().room()
    }

    fn hops(&self) -> Option<&str> {
        self.inner().hops()
    }

    fn relays(&self) -> bool {
        PeerLayer::relays(self)
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        PeerLayer::ask(self, question)
    }

    fn supports(&self, question: &Question) -> bool {
        self.inner().supports(question)
    }

    fn guarding(&self, other: Arc<dyn Peer>) -> Arc<dyn Peer> {
        PeerLayer::guarding(self, other)
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        self.inner().between_calls()
    }

    fn gone(&self) -> Option<SessionEnd> {
        self.inner().gone()
    }
}
