//! The context of one client request, and the call of a published item that it carries.

use std::borrow::Cow;
use std::sync::Arc;

use super::flow::{FlowCaller, ToldLabels};
use crate::results::OwnItem;
use crate::surface::Surface;
use proxy_dialects::Dialect;
use proxy_json::{Object, Raw, raw};
use proxy_mcp_client::{BackendCall, Cancellation, Peer};
use proxy_model::flow::Labels;
use proxy_model::{ClientInfo, ItemKind, JournalSnapshot, Owner, Principal, RecordedItem, RequestInfo, ScopeRules};
use proxy_store::Store;
use proxy_telemetry::CallRecording;
use proxy_wire::Revision;

/// One client request: the principal, the surface it uses, and the peer to notify and ask. It is created once, where
/// the request arrives, and passed by reference to everything that handles the request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub principal: Principal,
    /// The `clientInfo` and capabilities that the client sent.
    pub client: Arc<ClientInfo>,
    /// The client's protocol revision. `None` for calls made in this process, such as `proxy call`.
    pub revision: Option<Revision>,
    /// Whether the client retries its request with `inputResponses` when the result is `input_required`.
    pub retries_with_input: bool,
    /// The request headers that the config exposes to scripts.
    pub headers: Arc<[(String, String)]>,
    /// The published items. Taken once per request, so that a reload during the request does not change them.
    pub surface: Arc<Surface>,
    /// The scopes that items require, including the items that a handler uses.
    pub scope_rules: Arc<ScopeRules>,
    /// Receives progress, log messages and questions. `None` if there is no client to notify or ask.
    pub peer: Option<Arc<dyn Peer>>,
    pub cancel: Cancellation,
    /// Looks up the current session script, which may change while a question is open. `None` if it cannot change.
    pub policy: Option<PolicyNow>,
    /// The record of the request. `None` for calls that are not requests of their own, such as tests.
    pub recording: Option<Arc<CallRecording>>,
    /// What the client accepts. `None` if it is not known, or nothing about tools is asked.
    pub dialect: Option<Arc<Dialect>>,
    /// What the call tells the conversation.
    pub told: ToldLabels,
}

impl RequestContext {
    /// A request that the operator makes in this process: from the command line, the prompt or a test.
    pub fn local(principal: Principal, surface: Arc<Surface>, peer: Option<Arc<dyn Peer>>) -> Self {
        RequestContext {
            principal: principal.in_profile(surface.profile().cloned()),
            client: Arc::default(),
            revision: None,
            retries_with_input: false,
            headers: Arc::default(),
            surface,
            scope_rules: Arc::default(),
            peer,
            cancel: Cancellation::default(),
            policy: None,
            recording: None,
            dialect: None,
            told: ToldLabels::default(),
        }
    }

    /// Notes which published item the request is about.
    pub fn record_item(&self, kind: ItemKind, key: &str) {
        let Some(recording) = &self.recording else { return };
        let entry = self.surface.find(kind, key);
        if let Some(entry) = entry {
            recording.set_item(entry.stats(recording.telemetry()));
        }
        let Some(details) = recording.details() else { return };
        let mut noted = details.noted.lock();
        noted.policy = Some(Arc::clone(self.surface.policy()));
        noted.replay.headers = Arc::clone(&self.headers);
        noted.replay.session = match self.owner() {
            Some(Owner::Session(sid)) => Some(sid.digest().number()),
            _ => None,
        };
        noted.item = Some(RecordedItem {
            kind,
            name: key.to_owned(),
            origin: entry.and_then(|entry| {
                entry.origin.as_ref().map(|origin| (Arc::clone(&origin.backend), Arc::clone(&origin.name)))
            }),
            definition: entry.map(|entry| Arc::clone(&entry.definition)),
        });
    }

    /// Notes that the request is for a kept result.
    pub fn record_own_item(&self, kind: ItemKind, key: &str) {
        let Some(details) = self.recording.as_ref().and_then(|recording| recording.details()) else { return };
        let mut noted = details.noted.lock();
        noted.policy = Some(Arc::clone(self.surface.policy()));
        noted.item = Some(RecordedItem { kind, name: key.to_owned(), origin: None, definition: None });
    }

    /// What is sent to a backend for this request.
    pub fn backend_call(&self, method: impl Into<Cow<'static, str>>, params: Raw) -> BackendCall {
        BackendCall {
            cancel: self.cancel.clone(),
            peer: self.peer.clone(),
            forwards_input_requests: self.retries_with_input,
            ..BackendCall::new(method, params)
        }
    }

    /// The id that the records of all rounds of this call share; `None` if nobody reads records.
    pub fn call_id(&self) -> Option<String> {
        self.recording.as_ref().and_then(|recording| recording.call_id())
    }

    /// The owner of the call. `None` if the call has no peer.
    pub fn owner(&self) -> Option<&Owner> {
        self.peer.as_ref().map(|peer| peer.owner())
    }

    /// Whose marks count. `None` if no labels are tracked.
    pub(super) fn flow_caller(&self, store: &Store) -> Option<FlowCaller> {
        let recording = self.recording.as_ref();
        let caller = FlowCaller::of(Some(&self.surface), &self.principal, self.owner(), store, recording)?;
        Some(caller.telling(&self.told))
    }

    /// The request as scripts see it.
    pub(super) fn info(&self, method: Cow<'static, str>, name: Arc<str>) -> RequestInfo {
        RequestInfo {
            method,
            name,
            principal: self.principal.clone(),
            owner: self.owner().cloned(),
            client: Arc::clone(&self.client),
            headers: Arc::clone(&self.headers),
            scope_rules: Arc::clone(&self.scope_rules),
        }
    }

    /// Whether the client's revision allows `structuredContent` to be an object only.
    pub fn structured_objects_only(&self) -> bool {
        self.revision.is_some_and(|revision| !revision.is_stateless())
    }
}

/// The call of a published item: `tools/call`, `resources/read` or `prompts/get`.
#[derive(Clone, Debug)]
pub struct ItemCall {
    pub kind: ItemKind,
    /// The published name or URI.
    pub key: String,
    /// The params as the client sent them, without reserved `_meta` keys and under the published name or URI.
    pub params: Raw,
    /// The server of a resource that is not published: the client knows its URI from a link.
    pub unlisted_on: Option<Arc<str>>,
    /// How the call names a kept result; `None` if it is for an item of the surface.
    pub own: Option<OwnItem>,
    /// Whether the client accepts a task in place of the result.
    pub accepts_task: bool,
    /// Whether the client got the tool with fewer constraints than are published: its arguments are checked here.
    pub is_lowered: bool,
    /// Set if `on_request` has already admitted this call, which continues after its server asked the client something: the
    /// labels of what the call itself has told before.
    pub continues: Option<Labels>,
    /// The effects that the handler recorded before it asked, and the answers.
    pub journal: Option<JournalSnapshot>,
}

impl ItemCall {
    /// A call of an item by a name or URI that a client uses for it. The call goes by the published name, so that everything
    /// which decides about it sees the same name.
    pub fn new(surface: &Surface, kind: ItemKind, key: &str, params: Raw) -> Self {
        let published = surface.published_key(kind, key);
        let params = if published == key { params } else { renamed(kind, published, params) };
        ItemCall {
            kind,
            key: published.to_owned(),
            params,
            unlisted_on: None,
            own: None,
            accepts_task: false,
            is_lowered: false,
            continues: None,
            journal: None,
        }
    }

    /// A call as a client sends it: its list may have the tool and its arguments by other names. Also returns whether it has.
    ///
    /// # Errors
    /// If two arguments mean the same one.
    pub fn of_client(
        request: &RequestContext,
        kind: ItemKind,
        sent: &str,
        params: Raw,
    ) -> Result<(Self, bool), String> {
        let Some(dialect) = request.dialect.as_deref() else {
            return Ok((ItemCall::new(&request.surface, kind, sent, params), false));
        };
        let surface = &request.surface;
        let key = surface.key_for(Some(dialect), kind, sent);
        let mut is_renamed = key != sent;
        let mut params = if is_renamed { renamed(kind, key, params) } else { params };
        let mut is_lowered = false;
        if let Some(lowered) = surface.lowered_tool(Some(dialect), key) {
            is_lowered = lowered.takes_constraint;
            let changed = {
                let object = Object::of(&params).map_err(|error| error.to_string())?;
                lowered.arguments_of(&object)?.map(|arguments| object.edit().set("arguments", &arguments).finish_raw())
            };
            if let Some(changed) = changed {
                is_renamed = true;
                params = changed;
            }
        }
        Ok((ItemCall { is_lowered, ..ItemCall::new(surface, kind, key, params) }, is_renamed))
    }
}

/// The params with another name or URI.
fn renamed(kind: ItemKind, key: &str, params: Raw) -> Raw {
    Object::of(&params).map(|object| object.edit().set(kind.use_member(), &raw(key)).finish_raw()).unwrap_or(params)
}

/// Looks up the digest of the current session script; `None` if there is no session script.
#[derive(Clone)]
pub struct PolicyNow(Arc<dyn Fn() -> Option<Arc<str>> + Send + Sync>);

impl PolicyNow {
    pub fn new(look_up: impl Fn() -> Option<Arc<str>> + Send + Sync + 'static) -> Self {
        PolicyNow(Arc::new(look_up))
    }

    pub(super) fn is(&self, policy: &Arc<str>) -> bool {
        (self.0)().is_some_and(|now| now == *policy)
    }
}

impl std::fmt::Debug for PolicyNow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PolicyNow")
    }
}
