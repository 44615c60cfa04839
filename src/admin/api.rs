//! The control API: what a running proxy answers on its socket. Nothing here changes the config or the policy.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderName, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event_peer::{EventPeer, frame};
use super::events::{CallEvent, CallRequest, ExecRequest};
use super::find::{FindRequest, find, searchable};
use super::health::Health;
use super::operator::{Operator, UseError};
use super::questions::OperatorQuestions;
use super::recorded_calls::CallRecorder;
use super::report::SurfaceReport;
use super::routes::{Operation, routed};
use proxy_base::control;
use proxy_base::process::ANCESTORS_VARIABLE;
use proxy_engine::gateway::{Gateway, STOPPED, SurfaceHandle};
use proxy_identity::bearer::named_user;
use proxy_json::{Raw, valid};
use proxy_model::operator_api::{ProxyStatus, ServerLog};
use proxy_model::{Abilities, CallSource, ClientProfile, Era, ItemKind, NamedUser, Owner, Principal, SurfaceKey};
use proxy_server::Server;
use proxy_wire::http::{HttpReply, SocketRequest, SocketService, serve_socket};
use proxy_wire::outbound::OutboundMessage;

/// How many events of a call wait for the caller. Progress beyond that is lost.
pub(super) const MAX_WAITING_EVENTS: usize = 64;
/// How long an answer waits for servers that are starting and of which nothing is known.
const STARTING_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of tools that `GET /find` returns.
const MAX_FOUND: usize = 1000;

/// The control API of a running proxy.
pub struct ControlApi {
    pub(super) gateway: Arc<Gateway>,
    server: Server,
    /// The user who has started the proxy.
    pub(super) local: Principal,
    pub(super) recorder: Arc<CallRecorder>,
    questions: Arc<OperatorQuestions>,
    logs: LogsProvider,
    /// The folder of the control sockets.
    folder: PathBuf,
    health: Arc<Health>,
    /// The calls that are running.
    running: TaskTracker,
}

/// The header by which `proxy console` says that a request is of its page.
pub static SOURCE_HEADER: HeaderName = HeaderName::from_static("proxy-source");

/// What a server wrote to stderr, or why there is nothing.
pub type LogsProvider = Arc<dyn Fn(&str) -> ServerLog + Send + Sync>;

/// A reply that says what is wrong with the request.
pub(super) type Refused = HttpReply;

impl ControlApi {
    pub fn new(
        gateway: &Arc<Gateway>,
        server: &Server,
        local: Principal,
        logs: LogsProvider,
        folder: PathBuf,
        health: &Arc<Health>,
    ) -> Self {
        let recorder = CallRecorder::new(gateway.calls().dispatcher.telemetry());
        let (gateway, server, health) = (Arc::clone(gateway), server.clone(), Arc::clone(health));
        let (questions, running) = (Arc::default(), TaskTracker::new());
        ControlApi { gateway, server, local, recorder, questions, logs, folder, health, running }
    }

    /// The calls of commands and of the console, for whoever waits until they have ended.
    pub fn running_calls(&self) -> TaskTracker {
        self.running.clone()
    }

    /// Answers on a socket until `stop`, and to the end of what was asked before.
    pub async fn serve(self, listener: UnixListener, max_body: usize, stop: CancellationToken) {
        serve_socket(listener, Arc::new(self), max_body, stop).await;
    }

    fn status(&self) -> ProxyStatus {
        ProxyStatus {
            issuers: self.server.issuers(),
            clients: self.server.clients(),
            health: self.health.as_str().to_owned(),
            ..self.gateway.status()
        }
    }

    fn principal(&self, user: Option<&NamedUser>) -> Result<Principal, Refused> {
        let Some(user) = user else { return Ok(self.local.clone()) };
        let principal = named_user(&self.gateway.authentication().borrow(), user);
        principal.map_err(|error| problem(StatusCode::BAD_REQUEST, &error))
    }

    /// A user of this proxy who can be asked this much, with the surface of that user.
    async fn operator(&self, user: Option<&NamedUser>, abilities: Abilities) -> Result<Operator, Refused> {
        let principal = self.principal(user)?;
        let key = SurfaceKey { principal: principal.clone(), client: Arc::default() };
        let handle = SurfaceHandle::of(key, ClientProfile { era: Era::Session, abilities });
        self.gateway.first_lists().await;
        // Later, a reload may have added servers.
        let _ = tokio::time::timeout(STARTING_TIMEOUT, self.gateway.lists_known()).await;
        let surface = self.gateway.surface(&handle).await;
        let surface = surface.map_err(|error| problem(StatusCode::CONFLICT, &error.to_string()))?;
        let (gateway, source) = (Arc::clone(&self.gateway), CallSource::Control);
        Ok(Operator { gateway, surface, principal, peer: None, source, uid: None })
    }

    async fn reply(self: Arc<Self>, request: SocketRequest) -> Result<HttpReply, Refused> {
        let path: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        let (operation, name) = routed(&request.method, &path)?;
        match operation {
            Operation::Status => answer_json(&self.status()),
            Operation::Surface => self.surface(&request).await,
            Operation::Logs => self.logs(&request),
            Operation::Find => self.find(&request).await,
            Operation::Searchable => self.searchable(&request).await,
            Operation::Operations => Ok(self.operations(&request).await),
            Operation::Script => self.script(&request).await,
            Operation::Events => Ok(self.events()),
            Operation::Calls => self.calls(&request).await,
            Operation::CallDetails => self.call_details(name, &request).await,
            Operation::CallAsTest => self.call_as_test(name, &request).await,
            Operation::Recording => Ok(self.recording()),
            Operation::Restart => self.restart(name).await,
            Operation::CallServer => self.call_server(&request).await,
            Operation::Call => self.call(&request).await,
            Operation::Exec => self.exec(&request).await,
            Operation::Answer => self.answer(name, &request),
        }
    }

    async fn surface(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let capabilities = request.parameter("capabilities").map(serde_json::from_str::<Value>);
        let capabilities = capabilities.transpose().map_err(|error| bad_request(&error))?.unwrap_or_default();
        let operator = self.operator(user(request)?.as_ref(), Abilities::read(&capabilities)).await?;
        let (gateway, surface) = (Arc::clone(&operator.gateway), Arc::clone(&operator.surface));
        let wants = |what| request.parameter(what) == Some("true");
        let (with_histories, with_tokens) = (wants("histories"), wants("tokens"));
        // Thousands of definitions take a while to write, and clients must not wait for that.
        let text = tokio::task::spawn_blocking(move || {
            let mut report = SurfaceReport::of(&gateway, &surface);
            if with_histories {
                report = report.with_histories(&gateway, &surface);
            }
            serde_json::to_string(&if with_tokens { report.with_tokens() } else { report })
        });
        let failed = |error: &dyn std::error::Error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
        let text = text.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        Ok(self.within(text, request, &operator).await)
    }

    fn logs(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let Some(server) = request.parameter("server") else {
            return Err(problem(StatusCode::BAD_REQUEST, "`server` is missing"));
        };
        answer_json(&(self.logs)(server))
    }

    async fn find(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let Some(words) = request.parameter("query").filter(|words| !words.trim().is_empty()) else {
            return Err(problem(StatusCode::BAD_REQUEST, "`query` is missing"));
        };
        let limit =
            request.parameter("limit").map_or(Ok(8), str::parse::<usize>).map_err(|error| bad_request(&error))?;
        let operator = self.operator(user(request)?.as_ref(), Abilities::NONE).await?;
        let by_words = request.parameter("words") == Some("true");
        let asked = FindRequest { query: words.to_owned(), limit: limit.clamp(1, MAX_FOUND), by_words };
        let found = find(&operator.surface, asked, Box::new(|_, _| {})).await;
        let (found, of) = found.map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error))?;
        Ok(self.within(json!({"found": found, "of": of}).to_string(), request, &operator).await)
    }

    async fn searchable(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let operator = self.operator(user(request)?.as_ref(), Abilities::NONE).await?;
        let names = json!({"names": searchable(&operator.surface)});
        Ok(self.within(names.to_string(), request, &operator).await)
    }

    /// A reply that counts toward what waits for the user.
    async fn within(&self, text: String, request: &SocketRequest, operator: &Operator) -> HttpReply {
        let outlet = request.connection.outlet(Owner::of_share(&operator.principal));
        HttpReply::json(StatusCode::OK, text).within(&outlet).await
    }

    async fn call(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let call: CallRequest = body(request)?;
        let kinds = [ItemKind::Tool, ItemKind::Resource, ItemKind::Prompt];
        let Some(kind) = kinds.into_iter().find(|kind| kind.noun() == call.kind) else {
            return Err(problem(StatusCode::BAD_REQUEST, "`kind` must be `tool`, `resource` or `prompt`"));
        };
        let (user, capabilities) = (call.user.as_ref(), &call.capabilities);
        let (operator, frames, stream) = self.caller(user, capabilities, Some((kind, &call.key))).await?;
        let operator = Operator { source: source(request), uid: request.uid, ..operator };
        let gateway = Arc::clone(&self.gateway);
        self.running.spawn(async move {
            let outcome = until_gone(&gateway, &frames, operator.use_item(kind, &call.key, call.params)).await;
            finish(frames, operator, outcome).await;
        });
        Ok(HttpReply::events(stream))
    }

    async fn exec(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let exec: ExecRequest = body(request)?;
        let (operator, frames, stream) = self.caller(exec.user.as_ref(), &exec.capabilities, None).await?;
        let operator = Operator { uid: request.uid, ..operator };
        let limits = self.gateway.code_mode();
        let gateway = Arc::clone(&self.gateway);
        self.running.spawn(async move {
            let started = Instant::now();
            let outcome = until_gone(&gateway, &frames, operator.exec(&exec.script, &exec.data, &limits)).await;
            log_exec(started, outcome.as_ref());
            finish(frames, operator, outcome).await;
        });
        Ok(HttpReply::events(stream))
    }

    /// Somebody who calls and is told by events what happens. What is published only to those who can be asked is looked
    /// for only if it is wanted: to find that out, every server may have to be started once more.
    async fn caller(
        &self,
        user: Option<&NamedUser>,
        capabilities: &Value,
        wanted: Option<(ItemKind, &str)>,
    ) -> Result<(Operator, mpsc::Sender<OutboundMessage>, mpsc::Receiver<OutboundMessage>), Refused> {
        if self.gateway.is_stopping() {
            return Err(problem(StatusCode::SERVICE_UNAVAILABLE, "the proxy is stopping"));
        }
        let abilities = Abilities::read(capabilities);
        let mut operator = self.operator(user, Abilities::NONE).await?;
        if abilities.any() && wanted.is_some_and(|(kind, key)| operator.surface.find(kind, key).is_none()) {
            operator = self.operator(user, abilities).await?;
        }
        let (frames, stream) = mpsc::channel(MAX_WAITING_EVENTS);
        let peer = EventPeer::new(&operator.principal, abilities, frames.clone(), &self.questions);
        Ok((Operator { peer: Some(Arc::new(peer)), ..operator }, frames, stream))
    }

    fn answer(&self, id: &str, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let id = id.parse().map_err(|error: std::num::ParseIntError| bad_request(&error))?;
        let text = String::from_utf8(request.body.to_vec()).map_err(|error| bad_request(&error))?;
        let answer: Raw = valid(text).map_err(|error| bad_request(&error))?;
        match self.questions.answer(id, answer) {
            true => Ok(HttpReply::json(StatusCode::OK, "{}".to_owned())),
            false => Err(problem(StatusCode::NOT_FOUND, "this question is not open")),
        }
    }
}

impl SocketService for ControlApi {
    fn refusal(&self, client: &UnixStream) -> Option<String> {
        control::refusal(client, &self.folder, ANCESTORS_VARIABLE)
    }

    fn handle(self: Arc<Self>, request: SocketRequest) -> BoxFuture<'static, HttpReply> {
        async move { self.reply(request).await.unwrap_or_else(|refused| refused) }.boxed()
    }
}

/// The outcome of a call; `None` if its caller has gone, which cancels the call.
async fn until_gone(
    gateway: &Gateway,
    frames: &mpsc::Sender<OutboundMessage>,
    call: impl Future<Output = Result<Raw, UseError>>,
) -> Option<Result<Raw, UseError>> {
    tokio::select! {
        outcome = call => Some(outcome),
        () = frames.closed() => None,
        () = gateway.out_of_time() => Some(Err(UseError::Failed(STOPPED.to_owned()))),
    }
}

/// One line of the log, as for a request of a client.
fn log_exec(started: Instant, outcome: Option<&Result<Raw, UseError>>) {
    let outcome = match outcome {
        None => "cancelled",
        Some(Ok(_)) => "ok",
        Some(Err(UseError::Unknown)) => "unknown",
        Some(Err(UseError::Failed(reason))) => reason,
    };
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        target: "request", method = "exec", ms, outcome, "exec: {outcome} in {ms} ms, over the control socket"
    );
}

/// Sends the last event. The stream ends when everybody who may write on it is gone.
async fn finish(frames: mpsc::Sender<OutboundMessage>, operator: Operator, outcome: Option<Result<Raw, UseError>>) {
    drop(operator);
    let event = match outcome {
        None => return,
        Some(Ok(result)) => CallEvent::Result(result),
        Some(Err(UseError::Unknown)) => {
            CallEvent::Error { message: "no such item is published".to_owned(), unknown: true }
        }
        Some(Err(UseError::Failed(message))) => CallEvent::Error { message, unknown: false },
    };
    let _ = frames.send(OutboundMessage::uncounted(frame(&event))).await;
}

/// Whether the request is of a command or of the page of `proxy console`.
fn source(request: &SocketRequest) -> CallSource {
    match request.headers.get(&SOURCE_HEADER) {
        Some(source) if source == CallSource::Console.as_str() => CallSource::Console,
        _ => CallSource::Control,
    }
}

/// The user whom the parameters of a request name.
fn user(request: &SocketRequest) -> Result<Option<NamedUser>, Refused> {
    let Some(sub) = request.parameter("user") else { return Ok(None) };
    let claims = request.parameter("claims").map_or(Ok(serde_json::Map::new()), serde_json::from_str);
    let claims = claims.map_err(|error| bad_request(&error))?;
    Ok(Some(NamedUser { sub: sub.to_owned(), claims }))
}

fn body<'a, T: Deserialize<'a>>(request: &'a SocketRequest) -> Result<T, Refused> {
    serde_json::from_slice(&request.body).map_err(|error| bad_request(&error))
}

fn bad_request(error: &dyn std::error::Error) -> HttpReply {
    problem(StatusCode::BAD_REQUEST, &format!("invalid request: {error}"))
}

pub(super) fn problem(status: StatusCode, message: &str) -> HttpReply {
    HttpReply::json(status, json!({"error": message}).to_string())
}

/// A typed body.
pub(super) fn answer_json(body: &impl Serialize) -> Result<HttpReply, Refused> {
    let failed = |error: serde_json::Error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
    Ok(HttpReply::json(StatusCode::OK, serde_json::to_string(body).map_err(failed)?))
}
