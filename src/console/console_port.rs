//! The port of the page.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::page_tokens::PageTokens;
use super::request_check::{self, API, RequestRefusal, SESSION};
use super::response_headers::HEADERS;
use super::shown_proxy::{NoAnswer, ShownAnswer, ShownProxy};
use super::{assets, forwarding};
use proxy_base::control::Instance;
use proxy_wire::http::{Body, Guard, HttpError, HttpReply, WebRequest, WebService, serve_web};

/// The maximum size of a request. The proxy has its own limit.
const MAX_BODY: usize = 64 << 20;
/// How many events are queued for the command.
const MAX_EVENTS: usize = 16;
/// The hint for a request without a valid code or token.
const NEW_CODE: &str = "press Enter in the terminal of `proxy console`, and open the new address";

/// An event that the command reports on the terminal.
#[derive(Debug)]
pub enum ConsoleEvent {
    /// A page has used the code.
    Opened,
    /// The proxy with this process id no longer answers.
    Ended(u32),
    /// The proxy with this process id has taken its place.
    Found(u32),
}

/// Why the console could not start.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    #[error("cannot listen on port {0}: {1}")]
    Port(u16, io::Error),
    #[error("the proxy does not answer: {0}")]
    Proxy(HttpError),
    #[error("the system has no random numbers: {0}")]
    Random(getrandom::Error),
}

/// The console of a running proxy, on a port of this process. Dropping it closes the port.
pub struct Console {
    address: SocketAddr,
    service: Arc<ConsoleService>,
    events: mpsc::Receiver<ConsoleEvent>,
    _serving: JoinSet<()>,
}

impl Console {
    /// Opens a port on loopback; 0 means any free one. `sockets` is the folder of the control sockets.
    pub async fn open(port: u16, instance: &Instance, sockets: &Path) -> Result<Self, ConsoleError> {
        let proxy = ShownProxy::connect(instance, sockets).await.map_err(ConsoleError::Proxy)?;
        let taken = |error| ConsoleError::Port(port, error);
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(taken)?;
        let address = socket.local_addr().map_err(taken)?;
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let service = Arc::new(ConsoleService {
            guard: Guard::new(address, &[]),
            tokens: PageTokens::default(),
            proxy,
            is_lost: AtomicBool::new(false),
            events: sender,
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve_web(socket, Arc::clone(&service), MAX_BODY));
        Ok(Console { address, service, events, _serving: serving })
    }

    /// The address of the page with a new code. The code is in the fragment, which browsers do not send.
    pub fn new_address(&self) -> Result<String, ConsoleError> {
        let code = self.service.tokens.new_code().map_err(ConsoleError::Random)?;
        Ok(format!("http://{}/#{code}", self.address))
    }

    /// The next event.
    pub async fn next_event(&mut self) -> ConsoleEvent {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

struct ConsoleService {
    guard: Guard,
    tokens: PageTokens,
    proxy: ShownProxy,
    /// Whether the last request to the proxy got no answer.
    is_lost: AtomicBool,
    events: mpsc::Sender<ConsoleEvent>,
}

/// The body of `POST /api/session`.
#[derive(Deserialize)]
struct SessionRequest {
    code: String,
}

impl ConsoleService {
    async fn reply(&self, request: WebRequest) -> HttpReply {
        let path = request.uri.path();
        if path == SESSION {
            return self.session(&request);
        }
        if !path.starts_with(API) {
            return match assets::find(path) {
                Some(asset) => {
                    let body = Body::File { content_type: asset.content_type, bytes: asset.bytes };
                    HttpReply { body, ..HttpReply::empty(StatusCode::OK) }
                }
                None => problem(StatusCode::NOT_FOUND, "unknown path", None),
            };
        }
        match forwarding::target(&request) {
            Ok(target) => self.forward(&target, request).await,
            Err(StatusCode::METHOD_NOT_ALLOWED) => {
                problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed for this path", None)
            }
            Err(status) => problem(status, "unknown path", None),
        }
    }

    fn session(&self, request: &WebRequest) -> HttpReply {
        if request.method != Method::POST {
            return problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed for this path", None);
        }
        let SessionRequest { code } = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(error) => return problem(StatusCode::BAD_REQUEST, &format!("invalid request: {error}"), None),
        };
        match self.tokens.redeem(&code) {
            Ok(token) => {
                self.tell(ConsoleEvent::Opened);
                HttpReply::json(StatusCode::OK, json!({"token": token}).to_string())
            }
            Err(error) => problem(StatusCode::UNAUTHORIZED, &error.to_string(), Some(NEW_CODE)),
        }
    }

    async fn forward(&self, target: &str, request: WebRequest) -> HttpReply {
        match self.proxy.ask(request.method, target, request.body).await {
            Ok(ShownAnswer { pid, is_new, answer }) => {
                if self.is_lost.swap(false, Relaxed) || is_new {
                    self.tell(ConsoleEvent::Found(pid));
                }
                forwarding::forwarded(answer, pid).await
            }
            Err(NoAnswer { pid, error }) => {
                if !self.is_lost.swap(true, Relaxed) {
                    self.tell(ConsoleEvent::Ended(pid));
                }
                forwarding::unavailable(pid, &error.to_string())
            }
        }
    }

    /// Nobody depends on these events, so an event that does not fit into the channel is dropped.
    fn tell(&self, event: ConsoleEvent) {
        let _ = self.events.try_send(event);
    }
}

impl WebService for ConsoleService {
    fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &HEADERS
    }

    fn refuse(&self, head: &Parts) -> Option<HttpReply> {
        let refusal = request_check::check(&self.guard, &self.tokens, head).err()?;
        let hint = (refusal == RequestRefusal::Token).then_some(NEW_CODE);
        Some(problem(refusal.status(), &refusal.to_string(), hint))
    }

    fn handle(self: Arc<Self>, request: WebRequest) -> BoxFuture<'static, HttpReply> {
        async move { self.reply(request).await }.boxed()
    }
}

fn problem(status: StatusCode, error: &str, hint: Option<&str>) -> HttpReply {
    let mut body = json!({ "error": error });
    if let Some(hint) = hint {
        body["hint"] = hint.into();
    }
    HttpReply::json(status, body.to_string())
}
