//! The data of one client, of a session or of a stateless request.

use std::net::IpAddr;
use std::sync::Arc;

use super::links::Links;
use super::list_changes::SeenLists;
use super::log_level::ClientLogLevel;
use super::pending_questions::PendingQuestions;
use super::sink::MessageSink;
use super::subscriptions::SessionSubscriptions;
use crate::client::session_id::SessionId;
use proxy_engine::gateway::SurfaceHandle;
use proxy_json::RawRef;
use proxy_mcp_client::SessionEnd;
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
    pub(crate) abilities: Abilities,
    /// The `clientInfo` and capabilities from the handshake, or from each request of a stateless client.
    pub(crate) info: Arc<ClientInfo>,
    pub(crate) level: ClientLogLevel,
    /// The resource links that the client has received; `None` for anonymous requests without a session.
    pub(crate) links: Option<Arc<Links>>,
    /// What is known of this HTTP request beside its body.
    pub(crate) facts: HttpFacts,
    pub(crate) kind: ClientKind,
}

/// What an HTTP request says beside its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpFacts {
    /// The headers that the config exposes to scripts.
    pub(crate) headers: Arc<[(String, String)]>,
    /// The trace context, if requests are traced.
    pub(crate) trace_context: Option<TraceContext>,
    /// The other end of the connection.
    pub(crate) peer: Option<IpAddr>,
    /// The proxies that the request has passed.
    pub(crate) hops: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(crate) enum ClientKind {
    Session(ClientSession),
    Stateless,
}

/// What belongs to a session.
#[derive(Clone, Debug)]
pub(crate) struct ClientSession {
    /// The lists that the client saw last.
    pub(crate) seen_lists: Arc<SeenLists>,
    /// Sends requests to the client.
    pub(crate) questions: Arc<PendingQuestions>,
    /// The resources that the client subscribed to; `None` if nothing can be sent outside of a request.
    pub(crate) subscriptions: Option<SessionSubscriptions>,
    /// Says when the session is over in this process.
    pub(crate) gone: SessionEnd,
    /// Measures the session. Its end is measured when the last client of the session is dropped.
    pub(crate) timer: Option<Arc<SessionTimer>>,
    /// A digest of the id of an HTTP session.
    pub(crate) id: Option<Arc<str>>,
    /// The id of an HTTP session.
    pub(crate) http: Option<Arc<SessionId>>,
}

impl ClientSession {
    fn new() -> Self {
        ClientSession {
            seen_lists: Arc::default(),
            questions: Arc::default(),
            subscriptions: None,
            gone: SessionEnd::default(),
            timer: None,
            id: None,
            http: None,
        }
    }

    fn close(&self) {
        self.questions.end();
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.clear();
        }
    }
}

/// A handle on the surface for this principal and client.
pub(crate) fn surface_handle(
    principal: &Principal,
    info: &Arc<ClientInfo>,
    profile: ClientProfile,
) -> Arc<SurfaceHandle> {
    let key = SurfaceKey::of(principal.clone(), Arc::clone(info));
    Arc::new(SurfaceHandle::of(key, profile).with_token_shown())
}

impl Client {
    /// The client of a new session.
    pub(crate) fn of_session(revision: Revision, abilities: Abilities, info: ClientInfo, principal: Principal) -> Self {
        let info = Arc::new(info);
        Client {
            revision,
            surface_handle: surface_handle(&principal, &info, ClientProfile { era: revision.era(), abilities }),
            principal,
            owner: Owner::new_connection(),
            abilities,
            info,
            level: ClientLogLevel::new_session(),
            links: Some(Arc::default()),
            facts: HttpFacts::default(),
            kind: ClientKind::Session(ClientSession::new()),
        }
    }

    /// The session of the client; `None` for a stateless one.
    pub(crate) fn session(&self) -> Option<&ClientSession> {
        match &self.kind {
            ClientKind::Session(session) => Some(session),
            ClientKind::Stateless => None,
        }
    }

    fn with_session(mut self, change: impl FnOnce(&mut ClientSession)) -> Self {
        if let ClientKind::Session(session) = &mut self.kind {
            change(session);
        }
        self
    }

    /// Adds the sink for messages that do not belong to a request of the client.
    pub(crate) fn with_sink(self, sink: MessageSink) -> Self {
        self.with_session(|session| session.subscriptions = Some(SessionSubscriptions::new(sink)))
    }

    /// Measures the session from now on.
    pub(crate) fn timed(self, stats: &Arc<ProxyStats>) -> Self {
        self.with_session(|session| session.timer = Some(Arc::new(SessionTimer::start(stats))))
    }

    /// Adds the id of its HTTP session.
    pub(crate) fn with_id(self, id: &SessionId) -> Self {
        self.with_session(|session| {
            session.id = Some(id.sid.digest().to_string().into());
            session.http = Some(Arc::new(id.clone()));
        })
    }

    /// Whether another process can know the client, too: by its session over HTTP, or by who it is.
    pub(crate) fn is_known_elsewhere(&self) -> bool {
        match &self.kind {
            ClientKind::Session(session) => session.http.is_some(),
            ClientKind::Stateless => matches!(self.owner, Owner::Person(_)),
        }
    }

    /// Whose links these are in the store: of this client, under its profile.
    pub(crate) fn link_owner(&self) -> Owner {
        self.owner.clone().under(self.principal.profile())
    }

    /// The resources that the client of a session subscribed to.
    pub(crate) fn subscriptions(&self) -> Option<&SessionSubscriptions> {
        self.session()?.subscriptions.as_ref()
    }

    /// The client of the same session from when its user's groups, claims or scopes have changed: it sees another surface.
    pub(crate) fn with_principal(&self, principal: &Principal) -> Self {
        let surface_handle = surface_handle(principal, &self.info, self.profile());
        if let Some(subscriptions) = self.subscriptions() {
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
        if let Some(session) = self.session() {
            session.questions.release();
        }
    }

    /// Ends the session: pending questions fail, subscriptions stop.
    pub(crate) fn end(&self) {
        if let Some(session) = self.session() {
            session.close();
            session.gone.end();
        }
    }

    /// The same for a session that may continue in another process, or later in this one.
    pub(crate) fn leave(&self) {
        if let Some(session) = self.session() {
            session.close();
            session.gone.leave();
        }
    }
}
