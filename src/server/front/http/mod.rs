//! The HTTP front: both eras on one path.

mod batches;
mod delete;
mod get;
mod negotiate;
mod post;
mod post_session;
mod post_stateless;
mod request_headers;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ALLOW, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use futures::future::join_all;
use tokio::sync::watch;

use request_headers::RequestHeaders;

use super::session::Session;
use super::sessions::Sessions;
use crate::config::Serve;
use crate::model::Principal;
use crate::server::client::changes::Compared;
use crate::server::client::replay::Replay;
use crate::server::{Identity, Server};
use crate::wire::http::{HttpReply, HttpRequest, HttpService};
use crate::wire::{Id, RpcError, encode, headers};

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(15);

/// Answers HTTP requests.
pub struct HttpFront {
    server: Server,
    sessions: Sessions,
    /// Who is let in; changes with the config.
    identity: watch::Sender<Identity>,
    request_headers: RequestHeaders,
    replay: Arc<Replay>,
}

impl HttpFront {
    /// The front, with its housekeeping running until it is dropped.
    pub fn new(server: Server, serve: &Serve) -> Arc<Self> {
        let mut tokens = server.gateway.tokens();
        let identity = watch::channel(Identity::new(&tokens.borrow_and_update())).0;
        let sessions = Sessions::new(serve.max_sessions, serve.session_idle_timeout);
        let front = Arc::new(HttpFront {
            server,
            sessions,
            identity,
            request_headers: RequestHeaders::new(&serve.request_headers),
            replay: Arc::default(),
        });
        let weak = Arc::downgrade(&front);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(SWEEP);
            loop {
                ticks.tick().await;
                let Some(front) = weak.upgrade() else { return };
                front.end(front.sessions.sweep());
            }
        });
        let weak = Arc::downgrade(&front);
        tokio::spawn(async move {
            while tokens.changed().await.is_ok() {
                let Some(front) = weak.upgrade() else { return };
                front.admit_only(Identity::new(&tokens.borrow_and_update()));
            }
        });
        let weak = Arc::downgrade(&front);
        let mut news = front.server.gateway.news();
        tokio::spawn(async move {
            while news.changed().await.is_ok() {
                let Some(front) = weak.upgrade() else { return };
                front.announce();
            }
        });
        front
    }

    /// From now on these are let in. A session of anybody else is as one that never was.
    fn admit_only(&self, identity: Identity) {
        let strangers = self.sessions.remove_where(|session| !identity.knows(&session.client.principal));
        self.identity.send_replace(identity);
        self.end(strangers);
    }

    /// Ends when this principal is no longer let in.
    async fn shut_out(&self, principal: &Principal) {
        let mut identity = self.identity.subscribe();
        // The front keeps the sender, so there is no other end.
        let _ = identity.wait_for(|identity| !identity.knows(principal)).await;
    }

    /// Ends sessions that were taken out of the table, with what was kept for them.
    fn end(&self, sessions: impl IntoIterator<Item = Arc<Session>>) {
        for session in sessions {
            session.end();
            self.server.forget(&session.client);
        }
    }

    /// Tells each session of the lists that have changed for it.
    fn announce(&self) {
        let mut compared = Compared::default();
        for session in self.sessions.all() {
            let now = self.server.gateway.surface_now(&session.client.surface_handle);
            let (Some(seen), Some(now)) = (&session.client.seen, now) else { continue };
            let changed = seen.turn_to(&now, &mut compared);
            if changed.is_empty() {
                continue;
            }
            // Each by itself: one that does not read must not hold up the others.
            tokio::spawn(async move {
                for change in changed {
                    session.tell(change).await;
                }
            });
        }
    }

    /// The end is near: streams that would last for ever end, running calls may still finish.
    pub fn begin_end(&self) {
        self.server.gateway.begin_stop();
        for session in self.sessions.all() {
            session.end_listening();
        }
    }

    /// Ends every session: their streams end, their calls are cancelled, what was kept for them is forgotten.
    pub async fn end_sessions(&self) {
        let sessions = self.sessions.remove_where(|_| true);
        sessions.iter().for_each(|session| session.end());
        let clients = sessions.iter().map(|session| &session.client);
        join_all(clients.map(|client| self.server.forget_values_of(&client.principal, &client.owner))).await;
    }

    async fn answer(self: Arc<Self>, request: HttpRequest) -> HttpReply {
        let principal = self.identity.borrow().of(&request.headers);
        let Some(principal) = principal else { return unauthorized() };
        match request.method {
            Method::POST => self.post(request, principal).await,
            Method::GET => self.get(&request.headers, &principal).await,
            Method::DELETE => self.delete(&request.headers, &principal),
            _ => method_not_allowed(),
        }
    }
}

impl HttpService for HttpFront {
    fn refuse(&self, headers: &HeaderMap) -> Option<HttpReply> {
        self.identity.borrow().of(headers).is_none().then(unauthorized)
    }

    fn handle(self: Arc<Self>, request: HttpRequest) -> Pin<Box<dyn Future<Output = HttpReply> + Send>> {
        Box::pin(self.answer(request))
    }
}

/// The one session id of a request.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(&headers::SESSION_ID).iter();
    let first = values.next()?;
    // Two of them could be read differently by different parties; a name that no session has says that.
    if values.next().is_some() { Some("") } else { first.to_str().ok() }
}

/// Why a request of a session is not looked at.
struct Refused {
    status: StatusCode,
    error: RpcError,
}

impl Refused {
    fn unknown_session() -> Self {
        let error = RpcError::invalid_request("there is no such session: initialize again");
        Refused { status: StatusCode::NOT_FOUND, error }
    }

    /// Whoever sent a readable request gets the error under its id.
    fn reply(&self, id: Option<&Id>) -> HttpReply {
        HttpReply::json(self.status, encode::error(id, &self.error))
    }
}

fn method_not_allowed() -> HttpReply {
    HttpReply::empty(StatusCode::METHOD_NOT_ALLOWED).with_header(ALLOW, HeaderValue::from_static("POST"))
}

fn unauthorized() -> HttpReply {
    HttpReply::refusal(StatusCode::UNAUTHORIZED, &RpcError::invalid_request("a bearer token is required"))
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}
