//! The data of one client, of a session or of a stateless request.

use std::net::IpAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::links::Links;
use super::list_changes::SeenLists;
use super::log_level::ClientLogLevel;
use super::pending_questions::PendingQuestions;
use super::sink::MessageSink;
use super::subscriptions::SessionSubscriptions;
use proxy_engine::gateway::SurfaceHandle;
use proxy_json::RawRef;
use proxy_model::{Abilities, ClientInfo, ClientProfile, Owner, Principal, SurfaceKey, TraceContext};
use proxy_telemetry::{ProxyStats, SessionTimer};
use proxy_wire::Revision;

/// A client with a session, or the sender of one stateless request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) revision: Revision,
    pub(crate) principal: Principal,
    pub(crate) owner: Owner,
    /// Looks up the surface of this client.
    pub(crate) surface_handle: Arc<SurfaceHandle>,
    /// The lists that the client of a session saw last.
    pub(crate) seen_lists: Option<Arc<SeenLists>>,
    pub(crate) abilities: Abilities,
    /// The `clientInfo` and capabilities from the handshake, or from each request of a stateless client.
    pub(crate) info: Arc<ClientInfo>,
    /// The headers of this request that the config exposes to scripts.
    pub(crate) headers: Arc<[(String, String)]>,
    /// The trace context of this HTTP request, if requests are traced.
    pub(crate) trace_context: Option<TraceContext>,
    /// A digest of the id of its HTTP session.
    pub(crate) session: Option<Arc<str>>,
    /// The other end of the HTTP connection.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) level: ClientLogLevel,
    /// Sends requests to a session-based client.
    pub(crate) questions: Option<Arc<PendingQuestions>>,
    /// The resources that the client of a session subscribed to.
    pub(crate) subscriptions: Option<SessionSubscriptions>,
    /// Cancelled when the session ends.
    pub(crate) gone: Option<CancellationToken>,
    /// Measures the session.
    pub(crate) timer: Option<Arc<SessionTimer>>,
    /// The resource links that the client has received; `None` for anonymous requests without a session.
    pub(crate) links: Option<Arc<Links>>,
}

/// A handle on the surface for this principal and client.
pub(crate) fn surface_handle(
    principal: &Principal,
    info: &Arc<ClientInfo>,
    profile: ClientProfile,
) -> Arc<SurfaceHandle> {
    let key = SurfaceKey { principal: principal.clone(), client: Arc::clone(info) };
    Arc::new(SurfaceHandle::of(key, profile).with_token_shown())
}

impl Client {
    /// The client of a new session.
    pub(crate) fn of_session(revision: Revision, abilities: Abilities, info: ClientInfo, principal: Principal) -> Self {
        let info = Arc::new(info);
        Client {
            revision,
            surface_handle: surface_handle(&principal, &info, ClientProfile { era: revision.era(), abilities }),
            seen_lists: Some(Arc::default()),
            principal,
            owner: Owner::new_session(),
            abilities,
            info,
            headers: Arc::default(),
            trace_context: None,
            session: None,
            peer: None,
            level: ClientLogLevel::new_session(),
            questions: Some(Arc::default()),
            subscriptions: None,
            gone: Some(CancellationToken::new()),
            timer: None,
            links: Some(Arc::default()),
        }
    }

    /// Adds the sink for messages that do not belong to a request of the client.
    pub(crate) fn with_sink(self, sink: MessageSink) -> Self {
        Client { subscriptions: Some(SessionSubscriptions::new(sink)), ..self }
    }

    /// Measures the session from now on.
    pub(crate) fn timed(self, stats: &Arc<ProxyStats>) -> Self {
        Client { timer: Some(Arc::new(SessionTimer::start(stats))), ..self }
    }

    /// The client of the same session from when its user's groups, claims or scopes have changed: it sees another surface.
    pub(crate) fn with_principal(&self, principal: &Principal) -> Self {
        let surface_handle = surface_handle(principal, &self.info, self.profile());
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.use_surface(&surface_handle);
        }
        Client { principal: principal.clone(), surface_handle, ..self.clone() }
    }

    /// What decides which connections to servers the client uses.
    pub(crate) fn profile(&self) -> ClientProfile {
        ClientProfile { era: self.revision.era(), abilities: self.abilities }
    }

    /// The capabilities that a stateless client declared with this request.
    pub(crate) fn declared(&self) -> Option<&RawRef> {
        self.info.capabilities.as_deref().filter(|_| self.revision.is_stateless())
    }

    /// The client has completed its handshake and may be asked.
    pub(crate) fn release_questions(&self) {
        if let Some(questions) = &self.questions {
            questions.release();
        }
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
