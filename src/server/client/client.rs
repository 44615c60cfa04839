//! A client as the proxy knows it, in either era.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::changes::Seen;
use super::links::Links;
use super::log_level::Level;
use super::questions::Questions;
use super::sink::MessageSink;
use super::subscriptions::Subscriptions;
use crate::gateway::SurfaceHandle;
use crate::json::RawRef;
use crate::model::{Abilities, ClientInfo, Owner, Principal, SurfaceKey};
use crate::wire::Revision;

/// A client: of a session, or of one stateless request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) revision: Revision,
    pub(crate) principal: Principal,
    pub(crate) owner: Owner,
    /// Gives the surface that this client sees.
    pub(crate) surface_handle: Arc<SurfaceHandle>,
    /// The lists that the client of a session last saw.
    pub(crate) seen: Option<Arc<Seen>>,
    pub(crate) abilities: Abilities,
    /// What the client says about itself: in its handshake, or with every request.
    pub(crate) info: Arc<ClientInfo>,
    /// The headers of this request that the config lets scripts see.
    pub(crate) headers: Arc<[(String, String)]>,
    pub(crate) level: Level,
    /// Sends requests to a session-based client.
    pub(crate) questions: Option<Arc<Questions>>,
    /// The resources that the client of a session subscribed to.
    pub(crate) subscriptions: Option<Subscriptions>,
    /// Cancelled when the session ends.
    pub(crate) gone: Option<CancellationToken>,
    /// The resource links that the client was given; none for anonymous requests without a session.
    pub(crate) links: Option<Arc<Links>>,
}

/// A handle on the surface for this principal and client.
pub(crate) fn surface_handle(principal: &Principal, info: &Arc<ClientInfo>) -> Arc<SurfaceHandle> {
    Arc::new(SurfaceHandle::of(SurfaceKey { principal: principal.clone(), client: Arc::clone(info) }))
}

impl Client {
    /// The client of a new session.
    pub(crate) fn of_session(revision: Revision, abilities: Abilities, info: ClientInfo, principal: Principal) -> Self {
        let info = Arc::new(info);
        Client {
            revision,
            surface_handle: surface_handle(&principal, &info),
            seen: Some(Arc::default()),
            principal,
            owner: Owner::new_session(),
            abilities,
            info,
            headers: Arc::default(),
            level: Level::new_session(),
            questions: Some(Arc::default()),
            subscriptions: None,
            gone: Some(CancellationToken::new()),
            links: Some(Arc::default()),
        }
    }

    /// Adds the sink for messages that no request asked for.
    pub(crate) fn with_sink(self, sink: MessageSink) -> Self {
        Client { subscriptions: Some(Subscriptions::new(sink)), ..self }
    }

    /// The capabilities that a stateless client declared with this request.
    pub(crate) fn declared(&self) -> Option<&RawRef> {
        self.info.capabilities.as_deref().filter(|_| self.revision.is_stateless())
    }

    /// Ends the session: pending questions fail, subscriptions stop.
    pub(crate) fn end(&self) {
        if let Some(questions) = &self.questions {
            questions.end();
        }
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.clear();
        }
        if let Some(gone) = &self.gone {
            gone.cancel();
        }
    }
}
