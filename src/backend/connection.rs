//! A settled connection: calls in the server's own era.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Value, json};

use super::assemble::{self, Additions};
use super::call::{Answer, Call, CallError};
use super::link::{Link, LinkError, Outgoing, Pulse};
use super::listing;
use super::signals::Signals;
use crate::json::{Object, Raw, RawRef};
use crate::model::{Definition, ItemKind, ServerInfo};
use crate::wire::params::{self, ParamHeader};
use crate::wire::{Revision, code, headers};

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Without a sign of life.
    pub(super) quiet: Duration,
    /// In all, whatever progress is reported.
    pub(super) limit: Duration,
}

/// Why a call on this connection has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is no longer what it was, and the server did not act on the call: it may be sent again.
    Stale,
    Final(CallError),
}

#[derive(Debug)]
pub(super) struct Connection {
    name: Arc<str>,
    link: Link,
    revision: Revision,
    info: Arc<ServerInfo>,
    signals: Arc<Signals>,
    /// Which arguments of which tool travel as headers too.
    marked: ArcSwap<HashMap<String, Vec<ParamHeader>>>,
}

impl Connection {
    pub(super) fn new(
        name: &Arc<str>,
        link: Link,
        revision: Revision,
        info: ServerInfo,
        signals: Arc<Signals>,
    ) -> Self {
        Connection { name: Arc::clone(name), link, revision, info: Arc::new(info), signals, marked: ArcSwap::default() }
    }

    pub(super) fn info(&self) -> &Arc<ServerInfo> {
        &self.info
    }

    pub(super) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Whether marked arguments must be sent as headers, and badly marked tools left out.
    pub(super) fn sends_headers(&self) -> bool {
        self.revision.is_stateless() && matches!(self.link, Link::Http(_))
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.revision.is_stateless()
    }

    /// Whether the server tells of updates of single resources.
    pub(super) fn offers_subscriptions(&self) -> bool {
        self.info.capabilities["resources"]["subscribe"] == true
    }

    /// Whether the server says when a list changes.
    pub(super) fn announces(&self, kind: ItemKind) -> bool {
        self.info.capabilities[kind.capability()]["listChanged"] == true
    }

    /// Whether another server may answer in this one's place without the connection ending.
    pub(super) fn may_be_replaced(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    pub(super) async fn closed(&self) -> String {
        self.link.closed().await
    }

    pub(super) async fn stop(&self) {
        self.link.stop().await;
    }

    /// Remembers the marks of the tools just listed.
    pub(super) fn remember(&self, tools: &[Arc<Definition>]) {
        if !self.sends_headers() {
            return;
        }
        let marked = tools
            .iter()
            .filter_map(|tool| {
                let found = params::marked(&tool.member("inputSchema")?).ok()?;
                (!found.is_empty()).then(|| (tool.key().to_owned(), found))
            })
            .collect();
        self.marked.store(Arc::new(marked));
    }

    /// A request of the proxy's own, without anybody waiting in front.
    pub(super) async fn ask(&self, method: &str, body: &RawRef) -> Result<Raw, LinkError> {
        self.ask_under(self.next_id(), method, body).await
    }

    pub(super) fn next_id(&self) -> u64 {
        self.link.next_id()
    }

    /// The same under an id that somebody must know before there is an answer.
    pub(super) async fn ask_under(&self, id: u64, method: &str, body: &RawRef) -> Result<Raw, LinkError> {
        let params = assemble::params(body, &self.additions(None, None, None));
        let mut outgoing = Outgoing::plain(id, method, params);
        outgoing.cancellable = true;
        self.link.request(outgoing).await
    }

    /// A listen, until either side ends it.
    pub(super) async fn listen_under(&self, id: u64, body: &RawRef) -> Result<(), LinkError> {
        let ended = self.signals.end_of(id);
        tokio::select! {
            outcome = self.ask_under(id, "subscriptions/listen", body) => outcome.map(drop),
            Ok(()) = ended => Ok(()),
        }
    }

    fn additions<'a>(
        &self,
        token: Option<u64>,
        capabilities: Option<&'a RawRef>,
        log_level: Option<&'a RawRef>,
    ) -> Additions<'a> {
        let stateless = self.revision.is_stateless().then_some(self.revision);
        Additions { progress_token: token, stateless, capabilities, log_level }
    }

    pub(super) async fn call(&self, call: &Call, patience: Patience) -> Result<Answer, Failure> {
        let pulse = Pulse::new();
        let outcome = tokio::select! {
            biased;
            // First, so that a call that was cancelled before it came here is not sent at all.
            () = call.cancel.cancelled() => return Err(Failure::Final(CallError::Cancelled)),
            outcome = self.send(call, &pulse) => outcome,
            after = pulse.silence(patience.quiet, patience.limit) => {
                return Err(Failure::Final(CallError::Timeout { backend: Arc::clone(&self.name), after }));
            }
        };
        outcome.map(|result| Answer { result }).map_err(|error| self.failure(error))
    }

    async fn send(&self, call: &Call, pulse: &Arc<Pulse>) -> Result<Raw, LinkError> {
        let outcome = self.send_once(call, pulse).await;
        let mismatch = matches!(&outcome, Err(LinkError::Rpc(error)) if error.code() == code::HEADER_MISMATCH);
        if !mismatch || !self.sends_headers() {
            return outcome;
        }
        // Our picture of its schemas is old: look again, and send again once.
        let listing = listing::list(self, ItemKind::Tool).await?;
        self.remember(&listing.items);
        self.send_once(call, pulse).await
    }

    async fn send_once(&self, call: &Call, pulse: &Arc<Pulse>) -> Result<Raw, LinkError> {
        let id = self.link.next_id();
        let token = call.progress.is_some().then_some(id);
        let additions = self.additions(token, call.capabilities.as_deref(), call.log_level.as_deref());
        let outgoing = Outgoing {
            id,
            method: call.method,
            params: assemble::params(&call.params, &additions),
            progress: call.progress.clone(),
            pulse: Some(Arc::clone(pulse)),
            headers: if self.sends_headers() { self.headers(call.method, &call.params) } else { Vec::new() },
            cancellable: true,
        };
        self.link.request(outgoing).await
    }

    fn headers(&self, method: &str, body: &RawRef) -> Vec<(String, String)> {
        let (Some(member), Ok(object)) = (headers::name_member(method), Object::parse(body.get())) else {
            return Vec::new();
        };
        let Some(name) = object.string(member) else { return Vec::new() };
        let mut out = vec![(headers::NAME.to_owned(), headers::encode(&name))];
        if let Some(marked) = self.marked.load().get(&name) {
            out.extend(params::to_send(marked, object.get("arguments")));
        }
        out
    }

    pub(super) fn failure(&self, error: LinkError) -> Failure {
        let backend = Arc::clone(&self.name);
        if let (Link::Http(link), LinkError::Rpc(error)) = (&self.link, &error)
            && error.code() == code::UNSUPPORTED_VERSION
        {
            // Another version of the server answers here now; on a pipe it is the same process as ever.
            link.abandon("it no longer supports the protocol version agreed on");
            return Failure::Stale;
        }
        Failure::Final(match error {
            LinkError::SessionExpired => return Failure::Stale,
            LinkError::Rpc(error) => CallError::Rpc(error),
            LinkError::Closed(reason) => CallError::Lost { backend, reason },
            LinkError::TooLarge(limit) => CallError::TooLarge { backend, limit },
            LinkError::Unexpected(answer) => CallError::Protocol { backend, reason: answer.to_string() },
            LinkError::Protocol(reason) => CallError::Protocol { backend, reason },
        })
    }

    /// Keeps an ear on the server's lists for as long as the connection lives.
    pub(super) async fn listen(self: Arc<Self>) {
        let filter = self.filter();
        if !self.revision.is_stateless() {
            if let (Link::Http(link), true) = (&self.link, filter.is_some() || self.offers_subscriptions()) {
                link.listen();
            }
            return;
        }
        let Some(filter) = filter else { return };
        let body = crate::json::raw(&json!({ "notifications": filter }));
        let mut pause = Duration::from_secs(1);
        loop {
            let started = std::time::Instant::now();
            match self.listen_under(self.next_id(), &body).await {
                Err(LinkError::Rpc(error)) if error.code() == code::METHOD_NOT_FOUND => return,
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
