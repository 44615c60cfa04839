//! The HTTP front: session-based and stateless requests on one path.

mod admission;
mod batches;
mod challenges;
mod delete;
mod refused_tokens;
mod get;
mod negotiate;
mod pages;
mod post;
mod post_session;
mod post_stateless;
mod replication;
mod request_headers;
mod scope_check;
mod session_lookup;
mod signed_in;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::ALLOW;
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use futures::future::join_all;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use pages::Pages;
use refused_tokens::RefusedTokens;
use request_headers::RequestHeaders;

use super::authenticator::{Authenticator, Caller};
use super::session::Session;
use super::sessions::Sessions;
use crate::Server;
use crate::client::list_changes::SurfaceChanges;
use crate::client::replay_budget::ReplayBudget;
use crate::client::state::ClientSession;
use proxy_config::Serve;
use proxy_fiber::CommonDelay;
use proxy_identity::bearer::Resource;
use proxy_model::{CallSource, Owner};
use proxy_wire::http::{Admission, Body, HttpReply, HttpRequest, HttpService, PageRequest};
use proxy_wire::{Sender, headers, hops, trace_client};

/// How long the response is awaited before an event stream is opened. A response that arrives earlier, with nothing said
/// before it, is one JSON body; for a stateless request it also determines the HTTP status.
const STREAM_DELAY: Duration = Duration::from_millis(300);
/// How often idle sessions are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);

/// Answers HTTP requests.
pub struct HttpFront {
    server: Server,
    sessions: Arc<Sessions>,
    /// Who is admitted. A config reload replaces it.
    authenticator: watch::Sender<Authenticator>,
    /// Where clients connect.
    address: String,
    /// How long running requests get at shutdown.
    drain_timeout: Duration,
    /// What tokens are for.
    resource: Resource,
    request_headers: RequestHeaders,
    replay_budget: Arc<ReplayBudget>,
    stream_delay: CommonDelay,
    refused_tokens: RefusedTokens,
    /// The requests that other replicas have received and this process answers.
    forwarded: TaskTracker,
    /// Where people log in to their own accounts; `None` if they cannot.
    pages: Option<Pages>,
}

impl HttpFront {
    /// Creates the front and its background tasks, which run until the front is dropped.
    pub fn new(server: Server, serve: &Serve, resource: Resource) -> Arc<Self> {
        let server = Server { source: CallSource::Http, ..server };
        let mut authentication = server.gateway.authentication();
        let authenticator =
            Authenticator::new(&authentication.borrow_and_update(), &resource, server.gateway.subject_tokens(), None);
        server.verifier.store(authenticator.verifier.clone());
        let sessions = Arc::new(Sessions::new(serve, server.sealer.clone(), server.replicas.time().clone()));
        server.http_sessions.store(Some(Arc::clone(&sessions)));
        let refused_tokens = RefusedTokens::new(&server.telemetry);
        let address = serve.public_url.clone().unwrap_or_else(|| serve.http.clone());
        let is_traced = server.telemetry.tracer().is_some();
        let front = Arc::new(HttpFront {
            server,
            sessions,
            authenticator: watch::channel(authenticator).0,
            address,
            drain_timeout: serve.drain_timeout,
            resource,
            request_headers: RequestHeaders::new(&serve.request_headers, is_traced),
            replay_budget: Arc::default(),
            stream_delay: CommonDelay::new(STREAM_DELAY),
            refused_tokens,
            forwarded: TaskTracker::new(),
            pages: Pages::new(serve),
        });
        let weak = Arc::downgrade(&front);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
            loop {
                ticks.tick().await;
                let Some(front) = weak.upgrade() else { return };
                front.server.end_sessions(front.sessions.remove_over());
                front.forget(front.sessions.remove_idle());
                front.refused_tokens.report();
            }
        });
        let weak = Arc::downgrade(&front);
        tokio::spawn(async move {
            while authentication.changed().await.is_ok() {
                let Some(front) = weak.upgrade() else { return };
                let now = authentication.borrow_and_update().clone();
                let subject_tokens = front.server.gateway.subject_tokens();
                let authenticator =
                    Authenticator::new(&now, &front.resource, subject_tokens, Some(&front.authenticator.borrow()));
                front.set_authenticator(authenticator);
            }
        });
        front.server.replicas.share_connections();
        replication::start(&front);
        let weak = Arc::downgrade(&front);
        let mut changes = SurfaceChanges::of(&front.server.gateway);
        tokio::spawn(async move {
            while changes.next().await {
                let Some(front) = weak.upgrade() else { return };
                front.notify_list_changes();
            }
        });
        front
    }

    /// Replaces who is admitted, and ends the sessions of users who no longer are, and of profiles that are gone: the operator
    /// has shut them out.
    fn set_authenticator(&self, authenticator: Authenticator) {
        self.server.verifier.store(authenticator.verifier.clone());
        let mut ended = self.sessions.end_users(|who| !authenticator.accepts(who));
        ended.extend(self.sessions.end_profiles(|profile| authenticator.place(profile).is_none()));
        let subject_tokens = Arc::clone(&authenticator.subject_tokens);
        self.authenticator.send_replace(authenticator);
        // Until now, tokens were kept by the former rules.
        subject_tokens.forget_all();
        self.server.end_sessions(ended);
    }

    /// Forgets sessions that were removed from the table. Stored values go with them, except those that the session finds
    /// again when it comes back.
    fn forget(&self, sessions: impl IntoIterator<Item = Arc<Session>>) {
        for session in sessions {
            session.close();
            self.forget_values(&session);
        }
    }

    /// Forgets a session that had to make room for another, although its client may still use it.
    fn make_room(&self, session: Option<Arc<Session>>) {
        if let Some(session) = session {
            session.leave();
            self.forget_values(&session);
        }
    }

    fn forget_values(&self, session: &Session) {
        let is_kept = self.server.gateway.calls().store.is_shared();
        let client = session.client();
        if !is_kept || !self.sessions.may_come_back(session) {
            self.server.forget_values_soon(&client.principal, &client.owner);
        }
    }

    /// Sends each session a notification for every list that has changed for it.
    fn notify_list_changes(&self) {
        for session in self.sessions.all() {
            let client = session.client();
            let now = self.server.gateway.lists_now(&client.surface_handle);
            let (Some(ClientSession { seen_lists, .. }), Some(now)) = (client.session(), now) else { continue };
            let changed = seen_lists.replace(now);
            if changed.is_empty() {
                continue;
            }
            // One task per session, so that a slow client does not delay the others.
            tokio::spawn(async move {
                for method in changed {
                    session.notify(method).await;
                }
            });
        }
    }

    /// Begins the shutdown: ends the streams that have no end of their own, one after the other, and lets running calls
    /// finish.
    pub fn begin_shutdown(&self) {
        let (listening, silent): (Vec<_>, Vec<_>) =
            self.sessions.all().into_iter().partition(|session| session.is_listening());
        self.server.replicas.begin_leaving();
        self.server.drain.begin(listening.len(), self.drain_timeout);
        // Before the streams of stateless clients, which are told when to come back: at the same time, both would come at once.
        let turns: Vec<_> = listening.into_iter().map(|session| (self.server.drain.next_turn(), session)).collect();
        self.server.gateway.begin_stop();
        silent.iter().for_each(|session| session.end_listening());
        tokio::spawn(async move {
            for (turn, session) in turns {
                tokio::time::sleep_until(turn).await;
                session.end_listening();
            }
        });
    }

    /// Completes when no suspended call of this process waits for an answer that another replica may receive, and all
    /// requests of other replicas are answered.
    pub async fn forwarded_ended(&self) {
        if self.server.replicas.store().is_none() {
            return;
        }
        self.forwarded.close();
        // A call that was continued may ask again.
        loop {
            self.server.conversations.all_continued().await;
            self.forwarded.wait().await;
            if self.server.conversations.may_end() {
                return;
            }
        }
    }

    /// Answers the requests that are still running: there is no time left for them.
    pub fn end_requests(&self) {
        self.server.gateway.end_time();
        for session in self.sessions.all() {
            session.in_flight.cancel_all();
        }
    }

    /// Forgets every session: finishes its streams and cancels its calls. Deletes the stored values of those that cannot
    /// come back after the end of this process.
    pub async fn forget_sessions(&self) {
        let is_kept = self.server.gateway.calls().store.is_shared();
        self.server.replicas.leave().await;
        let mut sessions = self.sessions.remove_all();
        for session in &sessions {
            if self.sessions.may_outlive_process(session) { session.leave() } else { session.close() }
        }
        sessions.retain(|session| !is_kept || !self.sessions.may_outlive_process(session));
        let clients: Vec<_> = sessions.iter().map(|session| session.client()).collect();
        join_all(clients.iter().map(|client| self.server.forget_values_of(&client.principal, &client.owner))).await;
    }
}

impl HttpService for HttpFront {
    type Caller = Caller;

    fn admit(self: Arc<Self>, place: &str, headers: &HeaderMap, peer: Option<IpAddr>) -> Admission<Caller> {
        admission::admission(&self, place, headers, peer)
    }

    async fn handle(self: Arc<Self>, request: HttpRequest, caller: Caller) -> HttpReply {
        if let Some(error) = hops::passed(&request.headers).and_then(|passed| hops::refused(&passed)) {
            tracing::debug!("refused a request: {}", error.message());
            return HttpReply::refusal(StatusCode::LOOP_DETECTED, &error);
        }
        let outlet = request.connection.outlet(Owner::of_handles(&caller.principal));
        let reply = match request.method {
            Method::POST => post::post(self, request, caller, &outlet).await,
            Method::GET => Box::pin(get::get(&self, &request.headers, &caller, &outlet)).await,
            Method::DELETE => Box::pin(delete::delete(&self, &request.headers, &caller.principal)).await,
            _ => method_not_allowed(),
        };
        if let Body::Json(message) = &reply.body {
            trace_client(Sender::Proxy, message.as_ref());
        }
        reply.within(&outlet).await
    }

    fn document(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<HttpReply> {
        admission::metadata(self, method, path, headers)
    }

    fn has_page(&self, path: &str) -> bool {
        self.pages.as_ref().is_some_and(|pages| pages.has(path)) && self.signs_people_in()
    }

    async fn page(self: Arc<Self>, request: PageRequest) -> HttpReply {
        match &self.pages {
            Some(pages) => Box::pin(pages::answer(&self, pages, request)).await,
            None => HttpReply::empty(StatusCode::NOT_FOUND),
        }
    }
}

/// The session id of a request.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(&headers::SESSION_ID).iter();
    let first = values.next()?;
    // Intermediaries may read another one of several values. The empty id, which no session has, leads to a 404.
    if values.next().is_some() { Some("") } else { first.to_str().ok() }
}

fn method_not_allowed() -> HttpReply {
    HttpReply::empty(StatusCode::METHOD_NOT_ALLOWED).with_header(ALLOW, HeaderValue::from_static("POST"))
}
