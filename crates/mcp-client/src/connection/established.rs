//! A connection after the handshake: sends calls in the form that the negotiated revision requires.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use http::HeaderName;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::continued;
use super::handshake::{self, Negotiation};
use super::holder::ServerSession;
use super::listing;
use super::params::{self, MetaAdditions, StatelessMeta};
use crate::call::{Answer, BackendCall, CallError, Peer, TASKS_EXTENSION, TimeLimit};
use crate::transport::{Activity, Outgoing, Signals, Transport, TransportError};
use proxy_json::{Object, Raw, RawRef};
use proxy_model::{Abilities, ClientProfile, Definition, Era, ItemKind, ServerInfo};
use proxy_wire::params::{self as param_headers, ParamHeader};
use proxy_wire::{LoggingLevel, Revision, code, headers};

/// How long a server may take to set its log level.
const SET_LEVEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the first call waits until the server knows the folders of its client.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a server may take to act on the folders that it was told, which it does beside answering pings.
const ROOTS_PAUSE: Duration = Duration::from_millis(50);

/// The time limits of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLimits {
    /// The timeout without progress.
    pub(crate) idle: Duration,
    /// The timeout in all, whatever progress is reported.
    pub(crate) total: Duration,
    /// When the time began to run.
    pub(crate) started: Instant,
    /// Whether the timeout in all is the caller's own.
    pub(crate) is_callers: bool,
}

impl CallLimits {
    /// The remaining time of a call that has not been sent yet.
    pub(crate) fn remaining(&self) -> Duration {
        self.idle.saturating_sub(self.started.elapsed())
    }

    /// Whose limit it is that ended a call.
    fn owner_of(&self, expired: TimeLimit) -> TimeLimit {
        if self.is_callers && expired == TimeLimit::Total { TimeLimit::Caller } else { expired }
    }
}

/// The response to a call.
pub(crate) struct Received {
    pub(crate) answer: Answer,
    /// Why it counts as a failure of the server although clients get it.
    pub(crate) fault: Option<String>,
}

/// Why a call on this connection has no result.
#[derive(Debug)]
pub(crate) enum ConnectionFailure {
    /// The session or the negotiated revision is no longer valid, and the server did not act on the call. It may be sent
    /// again on a new connection.
    Stale,
    Final(CallError),
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) server: Arc<str>,
    pub(super) transport: Transport,
    revision: Revision,
    info: Arc<ServerInfo>,
    signals: Arc<Signals>,
    /// The client abilities that were declared to the server.
    declared: Abilities,
    /// The maximum size of a list, over all its pages.
    pub(super) max_list_bytes: usize,
    /// The log level set by `logging/setLevel`, which holds for the whole session.
    log_level: tokio::sync::Mutex<Option<LoggingLevel>>,
    /// Set when the server has had time to ask for the client's folders.
    knows_roots: tokio::sync::OnceCell<()>,
    /// The arguments that are sent as headers too, by tool.
    param_headers: ArcSwap<HashMap<String, Vec<ParamHeader>>>,
    /// Cancelled when the connection ends because the user restarts the server.
    restarted: CancellationToken,
}

impl Connection {
    pub(super) fn new(
        server: &Arc<str>,
        transport: Transport,
        negotiation: Negotiation,
        signals: Arc<Signals>,
        max_list_bytes: usize,
    ) -> Self {
        Connection {
            server: Arc::clone(server),
            transport,
            revision: negotiation.revision,
            info: Arc::new(negotiation.info),
            signals,
            declared: negotiation.declared,
            max_list_bytes,
            log_level: tokio::sync::Mutex::default(),
            knows_roots: tokio::sync::OnceCell::new(),
            param_headers: ArcSwap::default(),
            restarted: CancellationToken::new(),
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_stateless()
    }

    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    /// The clients that the connection is made for.
    pub(crate) fn profile(&self) -> ClientProfile {
        ClientProfile { era: self.era(), abilities: self.declared.listed() }
    }

    /// Whether client calls are in flight. Over HTTP, only calls in sessions are known.
    pub(crate) fn is_busy(&self) -> bool {
        self.transport.is_busy()
    }

    /// Whether the server waits for an answer to a question.
    pub(crate) fn has_open_questions(&self) -> bool {
        self.transport.has_open_questions()
    }

    pub(crate) fn server_name(&self) -> &Arc<str> {
        &self.server
    }

    pub(crate) fn declared(&self) -> Abilities {
        self.declared
    }

    pub(crate) fn info(&self) -> &Arc<ServerInfo> {
        &self.info
    }

    /// What is wrong although the connection can be used: a newer version of the description of an API.
    pub(crate) fn problem(&self) -> Option<String> {
        match &self.transport {
            Transport::Api(api) => api.description().problem(),
            Transport::Stdio(_) | Transport::Http(_) | Transport::Sse(_) => None,
        }
    }

    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Whether arguments marked with `x-mcp-header` are sent as headers, so that tools with invalid marks must be dropped.
    pub(super) fn sends_param_headers(&self) -> bool {
        self.revision.is_stateless() && matches!(self.transport, Transport::Http(_))
    }

    /// Whether the server supports subscriptions to single resources.
    pub(crate) fn supports_subscriptions(&self) -> bool {
        self.info.capabilities["resources"]["subscribe"] == true
    }

    /// Whether the server notifies of changes of this list.
    pub(crate) fn announces_changes(&self, kind: ItemKind) -> bool {
        self.info.capabilities[kind.capability()]["listChanged"] == true
    }

    /// Whether another server may take over without the connection closing, as behind a URL.
    pub(crate) fn may_be_replaced(&self) -> bool {
        matches!(self.transport, Transport::Http(_))
    }

    /// Whether the connection has closed, even if its supervisor has not noticed yet.
    pub(crate) fn is_closed(&self) -> bool {
        self.transport.is_closed()
    }

    /// Completes when the connection has closed, with the reason.
    pub(crate) async fn closed(&self) -> String {
        self.transport.closed().await
    }

    /// Uses a connection that was made to try the server: from now on its process is one like any other.
    pub(crate) fn adopt(&self) {
        self.transport.release_log();
    }

    pub(crate) async fn stop(&self) {
        self.transport.stop().await;
    }

    /// Lets the session at the server go on after the connection has stopped: another process takes it over.
    pub(crate) fn leave_session(&self) {
        if let Transport::Http(http) = &self.transport {
            http.leave_session();
        }
    }

    /// What another process needs to go on with the session at the server; `None` if there is none.
    pub(super) fn session_at(&self, url: &str) -> Option<ServerSession> {
        match &self.transport {
            Transport::Http(http) => continued::session_of(http, &self.server, url, self.revision, &self.info),
            Transport::Stdio(_) | Transport::Sse(_) | Transport::Api(_) => None,
        }
    }

    /// Whether the user restarts the server.
    pub(crate) fn is_restarted(&self) -> bool {
        self.restarted.is_cancelled()
    }

    /// Ends the connection because the user restarts the server. Calls in flight fail with that reason, which the circuit
    /// breaker does not count.
    pub(crate) async fn stop_for_restart(&self) {
        self.restarted.cancel();
        self.transport.stop().await;
    }

    /// Remembers which arguments of these tools are sent as headers. Tools that are listed for some clients only are known
    /// from other lists.
    pub(crate) fn remember_param_headers(&self, tools: &[Arc<Definition>]) {
        if !self.sends_param_headers() {
            return;
        }
        let mut known = HashMap::clone(&self.param_headers.load());
        for tool in tools {
            let marked = tool.member("inputSchema").and_then(|schema| param_headers::marked(&schema).ok());
            match marked.filter(|marked| !marked.is_empty()) {
                Some(marked) => known.insert(tool.key().to_owned(), marked),
                None => known.remove(tool.key()),
            };
        }
        self.param_headers.store(Arc::new(known));
    }

    /// Sends a request of the proxy itself, for which no client is waiting.
    pub(crate) async fn request(&self, method: &str, body: &RawRef) -> Result<Raw, TransportError> {
        self.request_with_id(self.next_id(), method, body).await
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.transport.next_id()
    }

    /// Like [`Connection::request`], with an id from [`Connection::next_id`] that the caller has to know in advance.
    pub(super) async fn request_with_id(&self, id: u64, method: &str, body: &RawRef) -> Result<Raw, TransportError> {
        self.request_with(id, method, params::with_meta(body, &self.meta_additions(None, None, false))).await
    }

    /// Sends a request of the proxy itself on behalf of clients with these abilities. A stateless server receives the
    /// abilities in `_meta`.
    pub(super) async fn request_for(
        &self,
        abilities: Abilities,
        method: &str,
        body: &RawRef,
    ) -> Result<Raw, TransportError> {
        let mut additions = self.meta_additions(None, None, false);
        if let Some(stateless) = additions.stateless.as_mut().filter(|_| abilities.any()) {
            stateless.capabilities = Some(proxy_json::raw(&abilities.to_capabilities()));
        }
        self.request_with(self.next_id(), method, params::with_meta(body, &additions)).await
    }

    async fn request_with(&self, id: u64, method: &str, params: String) -> Result<Raw, TransportError> {
        let mut outgoing = Outgoing::plain(id, method, params);
        outgoing.cancellable = true;
        self.transport.request(outgoing).await
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<&RawRef>) -> Result<(), TransportError> {
        self.transport.notify(method, params.map(RawRef::get)).await
    }

    fn meta_additions(
        &self,
        progress_token: Option<u64>,
        peer: Option<&dyn Peer>,
        declares_tasks: bool,
    ) -> MetaAdditions {
        if !self.revision.is_stateless() {
            return MetaAdditions { progress_token, stateless: None };
        }
        let capabilities = peer.map(|peer| match peer.declared() {
            Some(declared) => declared.to_owned(),
            None => proxy_json::raw(&peer.askable().to_capabilities()),
        });
        let capabilities = if declares_tasks { Some(with_tasks(capabilities.as_deref())) } else { capabilities };
        let log_level = peer.and_then(Peer::log_level);
        let stateless = StatelessMeta { revision: self.revision, capabilities, log_level };
        MetaAdditions { progress_token, stateless: Some(stateless) }
    }

    /// Lowers the log level of a session-based server to what its callers want.
    async fn set_log_level(&self, level: Option<LoggingLevel>) {
        let has_logging = !self.is_stateless() && self.info.capabilities.get("logging").is_some();
        let Some(level) = level.filter(|_| has_logging) else { return };
        let mut current = self.log_level.lock().await;
        if current.is_some_and(|current| current <= level) {
            return;
        }
        let body = proxy_json::raw(&json!({"level": level.as_str()}));
        let answer = tokio::time::timeout(SET_LEVEL_TIMEOUT, Box::pin(self.request("logging/setLevel", &body))).await;
        if !matches!(answer, Ok(Ok(_))) {
            tracing::debug!(server = %self.server, ?answer, "cannot set the log level");
        }
        // Recorded even after a failure: further calls must not wait for it again.
        *current = Some(level);
    }

    /// Waits until a server that sends `roots/list` right after the handshake has the answer. Messages are ordered: the
    /// server responds to a first ping after it has asked, and to a second one after it has received the answer. Processing
    /// the answer may take another moment.
    async fn roots_known(&self) {
        let ping = || self.request("ping", RawRef::EMPTY_OBJECT);
        let known = async {
            let _ = ping().await;
            if self.transport.questions_answered().await > 0 {
                let _ = ping().await;
                tokio::time::sleep(ROOTS_PAUSE).await;
            }
        };
        if tokio::time::timeout(ROOTS_TIMEOUT, known).await.is_err() {
            tracing::debug!(server = %self.server, "the first call no longer waits for the client's folders");
        }
    }

    pub(crate) async fn call(&self, call: &BackendCall, limits: CallLimits) -> Result<Received, ConnectionFailure> {
        if self.restarted.is_cancelled() {
            return Err(ConnectionFailure::Stale);
        }
        // Not sent at all.
        if call.cancel.is_cancelled() {
            return Err(ConnectionFailure::Final(CallError::Cancelled));
        }
        let activity = Activity::since(limits.started);
        let outcome = tokio::select! {
            // A result that is there comes first; the others need not even be looked at.
            biased;
            outcome = self.send(call, &activity) => outcome,
            () = call.cancel.cancelled() => return Err(ConnectionFailure::Final(CallError::Cancelled)),
            // The requests of an HTTP transport outlive it.
            () = self.restarted.cancelled() => return Err(ConnectionFailure::Final(self.restarted_error())),
            (after, expired) = activity.timed_out(limits.idle, limits.total) => {
                let limit = limits.owner_of(expired);
                let backend = Arc::clone(&self.server);
                return Err(ConnectionFailure::Final(CallError::Timeout { backend, after, limit }));
            }
        };
        match outcome {
            Ok(result) => Ok(Received { answer: Answer { result }, fault: None }),
            Err(TransportError::ApiFault { status, result }) => {
                Ok(Received { answer: Answer { result }, fault: Some(format!("HTTP {status}")) })
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// What happens rarely is boxed: otherwise it would be a part of the future of every call, which is moved several times.
    async fn send(&self, call: &BackendCall, activity: &Arc<Activity>) -> Result<Raw, TransportError> {
        if self.declared.roots {
            Box::pin(self.knows_roots.get_or_init(|| self.roots_known())).await;
        }
        if let Some(peer) = &call.peer {
            self.set_log_level(peer.log_level()).await;
        }
        let outcome = self.send_once(call, activity).await;
        if let (Transport::Http(http), Err(error)) = (&self.transport, &outcome)
            && self.may_be_other_era(error)
            && Box::pin(handshake::has_changed_era(http, self.revision)).await
        {
            http.abandon("it switched to another protocol era");
            return Err(TransportError::SessionExpired);
        }
        let mismatch = matches!(&outcome, Err(TransportError::Rpc(error)) if error.code() == code::HEADER_MISMATCH);
        if !mismatch || !self.sends_param_headers() {
            return outcome;
        }
        // The known schemas are outdated: list the tools and send the call once more.
        let abilities = call.peer.as_deref().map_or(Abilities::NONE, |peer| peer.abilities().listed());
        let listing = Box::pin(listing::list(self, ItemKind::Tool, abilities)).await?;
        self.remember_param_headers(&listing.items);
        self.send_once(call, activity).await
    }

    async fn send_once(&self, call: &BackendCall, activity: &Arc<Activity>) -> Result<Raw, TransportError> {
        let id = self.transport.next_id();
        let peer = call.peer.as_deref();
        // Without a peer progress is requested as well: it keeps a long call from timing out.
        let token = peer.is_none_or(Peer::wants_progress).then_some(id);
        let sends_headers = self.sends_param_headers();
        let outgoing = Outgoing {
            id,
            method: &call.method,
            params: params::with_meta(&call.params, &self.meta_additions(token, peer, call.declares_tasks)),
            peer: call.peer.clone(),
            activity: Some(Arc::clone(activity)),
            headers: if sends_headers { self.headers(&call.method, &call.params) } else { Vec::new() },
            cancel: Some(&call.cancel),
            cancellable: true,
        };
        self.transport.request(outgoing).await
    }

    /// Whether an error suggests that a server of the other era is answering now.
    fn may_be_other_era(&self, error: &TransportError) -> bool {
        match error {
            TransportError::Misfit(_) => true,
            TransportError::Unexpected(answer) => answer.status == 400 && self.revision.is_stateless(),
            _ => false,
        }
    }

    fn headers(&self, method: &str, body: &RawRef) -> Vec<(HeaderName, String)> {
        let (Some(member), Ok(object)) = (headers::name_member(method), Object::of(body)) else {
            return Vec::new();
        };
        let Some(name) = object.string(member) else { return Vec::new() };
        let mut out = vec![(headers::NAME.clone(), headers::encode(&name))];
        if let Some(marked) = self.param_headers.load().get(&name) {
            out.extend(param_headers::to_send(marked, object.get("arguments")));
        }
        out
    }

    fn restarted_error(&self) -> CallError {
        let reason = "it was restarted before it responded; call it again".to_owned();
        CallError::Refused { backend: Arc::clone(&self.server), reason }
    }

    /// Translates an error of the transport. Closes the transport if the server no longer supports the revision.
    pub(crate) fn failure(&self, error: TransportError) -> ConnectionFailure {
        let backend = Arc::clone(&self.server);
        if let (Transport::Http(http), TransportError::Rpc(error)) = (&self.transport, &error)
            && error.code() == code::UNSUPPORTED_VERSION
        {
            // Behind a URL another version of the server may have been deployed. Over stdio it is still the same process.
            http.abandon("it no longer supports the negotiated protocol version");
            return ConnectionFailure::Stale;
        }
        ConnectionFailure::Final(match error {
            TransportError::SessionExpired => return ConnectionFailure::Stale,
            TransportError::Rpc(error) | TransportError::Misfit(error) => CallError::Rpc(error),
            TransportError::Closed(_) if self.restarted.is_cancelled() => self.restarted_error(),
            TransportError::Closed(reason) => CallError::Lost { backend, reason },
            TransportError::TooLarge(limit) => CallError::TooLarge { backend, limit },
            TransportError::Unexpected(answer) => CallError::Protocol { backend, reason: answer.to_string() },
            TransportError::Protocol(reason) => CallError::Protocol { backend, reason },
            TransportError::OlderTransport => CallError::Protocol { backend, reason: error.to_string() },
            TransportError::LoginNeeded(needed) => CallError::LoginNeeded { backend, reason: needed.to_string() },
            TransportError::Forbidden(reason) => CallError::Forbidden { backend, reason },
            TransportError::NotRenewed(reason) => CallError::Refused { backend, reason },
            // Only calls have it, and they take its result.
            TransportError::ApiFault { .. } => CallError::Protocol { backend, reason: error.to_string() },
        })
    }
}

/// Adds the tasks extension to the capabilities of a client.
fn with_tasks(capabilities: Option<&RawRef>) -> Raw {
    let mut capabilities: Value =
        capabilities.and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_else(|| json!({}));
    if !capabilities["extensions"].is_object() {
        capabilities["extensions"] = json!({});
    }
    capabilities["extensions"][TASKS_EXTENSION] = json!({});
    proxy_json::raw(&capabilities)
}
