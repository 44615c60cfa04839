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

use super::elicitations::OperatorElicitations;
use super::event_peer::{EventPeer, frame};
use super::events::{CallEvent, CallRequest, ExecRequest};
use super::find::{FindRequest, find, searchable};
use super::health::Health;
use super::operator::{Operator, UseError};
use super::recorded_calls::CallRecorder;
use super::report::SurfaceReport;
use super::routes::{Operation, routed};
use proxy_base::control;
use proxy_base::process::ANCESTORS_VARIABLE;
use proxy_engine::gateway::{Gateway, STOPPED, SurfaceHandle};
use proxy_fiber::ThreadReport;
use proxy_identity::bearer::named_user;
use proxy_json::{Raw, valid};
use proxy_model::operator_api::{ProxyStatus, ServerLog, ThreadStatus};
use proxy_model::{Abilities, CallSource, ClientProfile, Era, ItemKind, NamedUser, Owner, Principal, SurfaceKey};
use proxy_server::Server;
use proxy_wire::http::{HttpReply, SocketRequest, SocketService, serve_socket};
use proxy_wire::outbound::OutboundMessage;

/// How many events of a call are queued for the caller. Further progress events are dropped.
pub(super) const MAX_WAITING_EVENTS: usize = 64;
/// How long an answer waits for starting servers without cached lists.
const STARTING_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of tools that `GET /find` returns.
const MAX_FOUND: usize = 1000;

/// The control API of a running proxy.
pub struct ControlApi {
    pub(super) gateway: Arc<Gateway>,
    pub(super) server: Server,
    /// The user who started the proxy.
    pub(super) local: Principal,
    pub(super) recorder: Arc<CallRecorder>,
    elicitations: Arc<OperatorElicitations>,
    logs: LogsProvider,
    /// The folder of the control sockets.
    folder: PathBuf,
    health: Arc<Health>,
    /// The calls that are running.
    running: TaskTracker,
}

/// The header by which `proxy console` marks requests from its page.
pub static SOURCE_HEADER: HeaderName = HeaderName::from_static("proxy-source");

/// What a server wrote to stderr, or why there is nothing.
pub type LogsProvider = Arc<dyn Fn(&str) -> ServerLog + Send + Sync>;

/// An error reply.
pub(super) type Refused = HttpReply;

fn thread_status(report: &ThreadReport) -> ThreadStatus {
    let ThreadReport { connections, running, requests, busy } = *report;
    ThreadStatus { connections, running, requests, busy_seconds: busy.as_secs_f64() }
}

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
        ControlApi {
            gateway: Arc::clone(gateway),
            server: server.clone(),
            local,
            recorder,
            elicitations: Arc::default(),
            logs,
            folder,
            health: Arc::clone(health),
            running: TaskTracker::new(),
        }
    }

    /// The running calls from commands and the console, so that shutdown can wait for them.
    pub fn running_calls(&self) -> TaskTracker {
        self.running.clone()
    }

    /// Serves a socket until `stop`, and then finishes the requests that arrived before.
    pub async fn serve(self, listener: UnixListener, max_body: usize, stop: CancellationToken) {
        serve_socket(listener, Arc::new(self), max_body, stop).await;
    }

    fn status(&self) -> ProxyStatus {
        let mut status = ProxyStatus {
            issuers: self.server.issuers(),
            clients: self.server.clients(),
            threads: self.server.threads().reports().iter().map(thread_status).collect(),
            health: self.health.as_str().to_owned(),
            ..self.gateway.status()
        };
        for profile in &mut status.profiles {
            profile.sessions = status.clients.iter().filter(|client| client.profile == profile.name).count();
        }
        status
    }

    pub(super) fn principal(&self, user: Option<&NamedUser>) -> Result<Principal, Refused> {
        let Some(user) = user else { return Ok(self.local.clone()) };
        let principal = named_user(&self.gateway.authentication().borrow(), user);
        principal.map_err(|error| problem(StatusCode::BAD_REQUEST, &error))
    }

    /// A user of this proxy with these elicitation capabilities, and that user's surface.
    async fn operator(&self, user: Option<&NamedUser>, abilities: Abilities) -> Result<Operator, Refused> {
        let principal = self.principal(user)?;
        let key = SurfaceKey::of(principal.clone(), Arc::default());
        let handle = SurfaceHandle::of(key, ClientProfile { era: Era::Session, abilities });
        self.gateway.first_lists().await;
        // A reload may add servers later.
        let _ = tokio::time::timeout(STARTING_TIMEOUT, self.gateway.lists_known()).await;
        let surface = self.gateway.surface(&handle).await;
        let surface = surface.map_err(|error| problem(StatusCode::CONFLICT, &error.to_string()))?;
        let gateway = Arc::clone(&self.gateway);
        Ok(Operator { gateway, surface, principal, peer: None, source: CallSource::Control, uid: None })
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
            Operation::Sessions => answer_json(&self.server.sessions()),
            Operation::EndSessions => self.end_sessions(&request).await,
            Operation::AccountChanged => self.account_changed(&request),
            Operation::Replicas => self.replicas().await,
        }
    }

    async fn replicas(&self) -> Result<HttpReply, Refused> {
        let replicas = self.server.replicas().await;
        answer_json(&replicas.map_err(|error| problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()))?)
    }

    async fn surface(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let capabilities = request.parameter("capabilities").map(serde_json::from_str::<Value>);
        let capabilities = capabilities.transpose().map_err(|error| bad_request(&error))?.unwrap_or_default();
        let operator = self.operator(user(request)?.as_ref(), Abilities::read(&capabilities)).await?;
        let (gateway, surface) = (Arc::clone(&operator.gateway), Arc::clone(&operator.surface));
        let wants = |what| request.parameter(what) == Some("true");
        let (with_histories, with_tokens) = (wants("histories"), wants("tokens"));
        // Serializing thousands of definitions takes a while and must not delay clients.
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

    /// A reply that counts toward the memory that is buffered for the user.
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

    /// A caller that receives the events of its call. Items that are published only to clients with elicitation are looked
    /// up only if `wanted` needs it, because this may start every server a second time.
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
        let peer = EventPeer::new(&operator.principal, abilities, frames.clone(), &self.elicitations);
        Ok((Operator { peer: Some(Arc::new(peer)), ..operator }, frames, stream))
    }

    fn answer(&self, id: &str, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let id = id.parse().map_err(|error: std::num::ParseIntError| bad_request(&error))?;
        let text = String::from_utf8(request.body.to_vec()).map_err(|error| bad_request(&error))?;
        let answer: Raw = valid(text).map_err(|error| bad_request(&error))?;
        match self.elicitations.answer(id, answer) {
            true => Ok(HttpReply::json(StatusCode::OK, "{}".to_owned())),
            false => Err(problem(StatusCode::NOT_FOUND, "this elicitation is no longer open")),
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

/// The outcome of a call; `None` if the caller disconnected, which cancels the call.
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

/// Writes one log line, as for a client request.
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

/// Sends the last event. The stream ends when all its senders have been dropped.
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

/// Whether the request comes from a command or from the page of `proxy console`.
fn source(request: &SocketRequest) -> CallSource {
    match request.headers.get(&SOURCE_HEADER) {
        Some(source) if source == CallSource::Console.as_str() => CallSource::Console,
        _ => CallSource::Control,
    }
}

/// The user named by the parameters of a request.
fn user(request: &SocketRequest) -> Result<Option<NamedUser>, Refused> {
    let Some(sub) = request.parameter("user") else { return Ok(None) };
    let claims = request.parameter("claims").map_or(Ok(serde_json::Map::new()), serde_json::from_str);
    let claims = claims.map_err(|error| bad_request(&error))?;
    Ok(Some(NamedUser { sub: sub.to_owned(), claims }))
}

pub(super) fn body<'a, T: Deserialize<'a>>(request: &'a SocketRequest) -> Result<T, Refused> {
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
