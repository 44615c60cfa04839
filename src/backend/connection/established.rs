//! A settled connection: calls in the server's own era.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use http::HeaderName;
use serde_json::{Value, json};

use super::handshake;
use super::handshake::Settled;
use super::listing;
use super::params;
use super::params::{Additions, Stateless};
use crate::backend::call::backend_call::{Answer, Call, CallError};
use crate::backend::call::peer::Peer;
use crate::backend::handle::tasks::TASKS_EXTENSION;
use crate::backend::transport::any_transport::{Activity, Outgoing, Transport, TransportError};
use crate::backend::transport::signals::Signals;
use crate::json::{Object, Raw, RawRef};
use crate::model::{Abilities, Definition, ItemKind, ServerInfo};
use crate::wire::params as header_params;
use crate::wire::params::ParamHeader;
use crate::wire::{Revision, Severity, code, headers};

/// How long the first call waits for the stream on which a server may ask something.
const EAR: Duration = Duration::from_secs(2);

/// How long a server may take to set its log level.
const LEVEL: Duration = Duration::from_secs(5);

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without a sign of life.
    pub(crate) quiet: Duration,
    /// In all, whatever progress is reported.
    pub(crate) limit: Duration,
    /// When its time began to run, and how much of it went by before its turn came.
    pub(crate) since: Instant,
    pub(crate) queued: Duration,
}

impl Patience {
    /// What is left of it for a call that has not been sent yet.
    pub(crate) fn left(&self) -> Duration {
        self.quiet.saturating_sub(self.since.elapsed())
    }
}

/// Why a call on this connection has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is no longer what it was, and the server did not act on the call: it may be sent again.
    Stale,
    Final(CallError),
}

#[derive(Debug)]
pub(crate) struct Connection {
    name: Arc<str>,
    link: Transport,
    revision: Revision,
    info: Arc<ServerInfo>,
    signals: Arc<Signals>,
    /// What the server was told its clients can do.
    declared: Abilities,
    /// The log level it was asked for; messages of a session have one for all of them.
    level: tokio::sync::Mutex<Option<Severity>>,
    /// Which arguments of which tool travel as headers too.
    marked: ArcSwap<HashMap<String, Vec<ParamHeader>>>,
}

impl Connection {
    pub(crate) fn new(name: &Arc<str>, link: Transport, settled: Settled, signals: Arc<Signals>) -> Self {
        Connection {
            name: Arc::clone(name),
            link,
            revision: settled.revision,
            info: Arc::new(settled.info),
            signals,
            declared: settled.declared,
            level: tokio::sync::Mutex::default(),
            marked: ArcSwap::default(),
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_stateless()
    }

    /// Whether requests of clients are on their way, as far as that is known.
    pub(crate) fn is_busy(&self) -> bool {
        self.link.is_busy()
    }

    pub(crate) fn declared(&self) -> Abilities {
        self.declared
    }

    pub(crate) fn info(&self) -> &Arc<ServerInfo> {
        &self.info
    }

    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Whether marked arguments must be sent as headers, and badly marked tools left out.
    pub(crate) fn sends_headers(&self) -> bool {
        self.revision.is_stateless() && matches!(self.link, Transport::Http(_))
    }

    /// Whether the server tells of updates of single resources.
    pub(crate) fn offers_subscriptions(&self) -> bool {
        self.info.capabilities["resources"]["subscribe"] == true
    }

    /// Whether the server says when a list changes.
    pub(crate) fn announces(&self, kind: ItemKind) -> bool {
        self.info.capabilities[kind.capability()]["listChanged"] == true
    }

    /// Whether another server may answer in this one's place without the connection ending.
    pub(crate) fn may_be_replaced(&self) -> bool {
        matches!(self.link, Transport::Http(_))
    }

    pub(crate) async fn closed(&self) -> String {
        self.link.closed().await
    }

    pub(crate) async fn stop(&self) {
        self.link.stop().await;
    }

    /// Remembers the marks of the tools just listed.
    pub(crate) fn remember(&self, tools: &[Arc<Definition>]) {
        if !self.sends_headers() {
            return;
        }
        let marked = tools
            .iter()
            .filter_map(|tool| {
                let found = header_params::marked(&tool.member("inputSchema")?).ok()?;
                (!found.is_empty()).then(|| (tool.key().to_owned(), found))
            })
            .collect();
        self.marked.store(Arc::new(marked));
    }

    /// A request of the proxy's own, without anybody waiting in front.
    pub(crate) async fn ask(&self, method: &str, body: &RawRef) -> Result<Raw, TransportError> {
        self.ask_under(self.next_id(), method, body).await
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.link.next_id()
    }

    /// The same under an id that somebody must know before there is an answer.
    pub(crate) async fn ask_under(&self, id: u64, method: &str, body: &RawRef) -> Result<Raw, TransportError> {
        let params = params::params(body, &self.additions(None, None, false));
        let mut outgoing = Outgoing::plain(id, method, params);
        outgoing.cancellable = true;
        self.link.request(outgoing).await
    }

    /// A listen, until either side ends it.
    pub(crate) async fn listen_under(&self, id: u64, body: &RawRef) -> Result<(), TransportError> {
        let ended = self.signals.end_of(id);
        tokio::select! {
            outcome = self.ask_under(id, "subscriptions/listen", body) => outcome.map(drop),
            Ok(()) = ended => Ok(()),
        }
    }

    /// Tells the server something that has no answer.
    pub(crate) async fn tell(&self, method: &str, params: Option<&RawRef>) -> Result<(), TransportError> {
        self.link.notify(method, params.map(RawRef::get)).await
    }

    fn additions(&self, token: Option<u64>, peer: Option<&dyn Peer>, declares_tasks: bool) -> Additions {
        let Some(revision) = Some(self.revision).filter(|revision| revision.is_stateless()) else {
            return Additions { progress_token: token, stateless: None };
        };
        let capabilities = peer.map(|peer| match peer.declared() {
            Some(declared) => declared.get().to_owned(),
            None => peer.askable().to_capabilities().to_string(),
        });
        let capabilities = if declares_tasks { Some(with_tasks(capabilities.as_deref())) } else { capabilities };
        let log_level = peer.and_then(Peer::log_level);
        Additions { progress_token: token, stateless: Some(Stateless { revision, capabilities, log_level }) }
    }

    /// Asks a session-based server for log messages as fine as its callers want them.
    async fn want_level(&self, wanted: Option<Severity>) {
        let Some(wanted) = wanted.filter(|_| !self.is_stateless() && self.info.capabilities.get("logging").is_some())
        else {
            return;
        };
        let mut level = self.level.lock().await;
        if level.is_some_and(|level| level <= wanted) {
            return;
        }
        let body = crate::json::raw(&json!({"level": wanted.as_str()}));
        let answer = tokio::time::timeout(LEVEL, self.ask("logging/setLevel", &body)).await;
        if !matches!(answer, Ok(Ok(_))) {
            tracing::debug!(server = %self.name, ?answer, "setting the log level");
        }
        // Not asked for again where it was refused: calls must not wait for it each time.
        *level = Some(wanted);
    }

    pub(crate) async fn call(&self, call: &Call, patience: Patience) -> Result<Answer, Failure> {
        let pulse = Activity::since(patience.since);
        let outcome = tokio::select! {
            biased;
            // First, so that a call that was cancelled before it came here is not sent at all.
            () = call.cancel.cancelled() => return Err(Failure::Final(CallError::Cancelled)),
            outcome = self.send(call, &pulse) => outcome,
            after = pulse.silence(patience.quiet, patience.limit) => {
                return Err(Failure::Final(self.too_late(after, patience.queued)));
            }
        };
        outcome.map(|result| Answer { result }).map_err(|error| self.failure(error))
    }

    fn too_late(&self, after: Duration, queued: Duration) -> CallError {
        let backend = Arc::clone(&self.name);
        if queued.is_zero() {
            CallError::Timeout { backend, after }
        } else {
            CallError::LateStart { backend, after, queued }
        }
    }

    async fn send(&self, call: &Call, pulse: &Arc<Activity>) -> Result<Raw, TransportError> {
        if let Some(peer) = &call.peer {
            self.want_level(peer.log_level()).await;
        }
        let outcome = self.send_once(call, pulse).await;
        if let (Transport::Http(link), Err(error)) = (&self.link, &outcome)
            && self.doubts(error)
            && handshake::has_changed_from(link, self.revision).await
        {
            link.abandon("it speaks another era of the protocol now");
            return Err(TransportError::SessionExpired);
        }
        let mismatch = matches!(&outcome, Err(TransportError::Rpc(error)) if error.code() == code::HEADER_MISMATCH);
        if !mismatch || !self.sends_headers() {
            return outcome;
        }
        // Our picture of its schemas is old: look again, and send again once.
        let listing = listing::list(self, ItemKind::Tool).await?;
        self.remember(&listing.items);
        self.send_once(call, pulse).await
    }

    async fn send_once(&self, call: &Call, pulse: &Arc<Activity>) -> Result<Raw, TransportError> {
        let id = self.link.next_id();
        let peer = call.peer.as_deref();
        // Where nobody minds what is sent it is always asked for: it keeps a long call alive.
        let token = peer.is_none_or(Peer::wants_progress).then_some(id);
        let outgoing = Outgoing {
            id,
            method: &call.method,
            params: params::params(&call.params, &self.additions(token, peer, call.declares_tasks)),
            peer: call.peer.clone(),
            pulse: Some(Arc::clone(pulse)),
            headers: if self.sends_headers() { self.headers(&call.method, &call.params) } else { Vec::new() },
            cancellable: true,
        };
        self.link.request(outgoing).await
    }

    /// Whether an error looks as if a server of the other era answered here now.
    fn doubts(&self, error: &TransportError) -> bool {
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
        if let Some(marked) = self.marked.load().get(&name) {
            out.extend(header_params::to_send(marked, object.get("arguments")));
        }
        out
    }

    pub(crate) fn failure(&self, error: TransportError) -> Failure {
        let backend = Arc::clone(&self.name);
        if let (Transport::Http(link), TransportError::Rpc(error)) = (&self.link, &error)
            && error.code() == code::UNSUPPORTED_VERSION
        {
            // Another version of the server answers here now; on a pipe it is the same process as ever.
            link.abandon("it no longer supports the protocol version agreed on");
            return Failure::Stale;
        }
        Failure::Final(match error {
            TransportError::SessionExpired => return Failure::Stale,
            TransportError::Rpc(error) | TransportError::Misfit(error) => CallError::Rpc(error),
            TransportError::Closed(reason) => CallError::Lost { backend, reason },
            TransportError::TooLarge(limit) => CallError::TooLarge { backend, limit },
            TransportError::Unexpected(answer) => CallError::Protocol { backend, reason: answer.to_string() },
            TransportError::Protocol(reason) => CallError::Protocol { backend, reason },
            TransportError::OlderTransport => CallError::Protocol { backend, reason: error.to_string() },
        })
    }

    /// Keeps an ear on the server's lists for as long as the connection lives.
    pub(crate) async fn listen(self: Arc<Self>) {
        if !self.revision.is_stateless() {
            return self.open_ear().await;
        }
        let Some(filter) = self.filter() else { return };
        let body = crate::json::raw(&json!({ "notifications": filter }));
        let mut pause = Duration::from_secs(1);
        loop {
            let started = Instant::now();
            match self.listen_under(self.next_id(), &body).await {
                Err(TransportError::Rpc(error)) if error.code() == code::METHOD_NOT_FOUND => return,
                outcome => tracing::debug!(server = %self.name, ?outcome, "the subscription ended"),
            }
            if started.elapsed() > Duration::from_secs(30) {
                pause = Duration::from_secs(1);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(30));
            // Changes may have been missed while nobody listened.
            self.signals.mark_all();
        }
    }

    /// Opens the stream on which a session-based server speaks unasked, where it has anything to say there.
    pub(crate) async fn open_ear(&self) {
        if let Transport::Http(link) = &self.link
            && (self.filter().is_some() || self.offers_subscriptions() || self.declared.any())
            && tokio::time::timeout(EAR, link.listen()).await.is_err()
        {
            tracing::debug!(server = %self.name, "its own stream is slow to open");
        }
    }

    /// What the server says it can tell us about.
    fn filter(&self) -> Option<Value> {
        let capabilities = &self.info.capabilities;
        let mut filter = serde_json::Map::new();
        for (capability, flag) in
            [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
        {
            if capabilities[capability]["listChanged"] == true {
                filter.insert(flag.to_owned(), true.into());
            }
        }
        (!filter.is_empty()).then(|| Value::Object(filter))
    }
}

/// Capabilities that say beside all else that tasks are known.
fn with_tasks(capabilities: Option<&str>) -> String {
    let mut capabilities: Value =
        capabilities.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| json!({}));
    if !capabilities["extensions"].is_object() {
        capabilities["extensions"] = json!({});
    }
    capabilities["extensions"][TASKS_EXTENSION] = json!({});
    capabilities.to_string()
}
