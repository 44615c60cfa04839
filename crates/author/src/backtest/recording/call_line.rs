//! A whole call, as a line of a recording.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::catalog_line::timestamp;
use proxy_engine::results::is_own_name;
use proxy_json::{Raw, RawRef, valid};
use proxy_model::{
    AnsweredQuestion, CallOutcome, CallRecord, CallRefusal, ClientInfo, ItemKind, Principal, Realm, RecordedItem,
    ServerCallRecord,
};
use proxy_wire::Revision;

/// Whether a request is part of a recording: those for items are. The pages of a large result are no item of a script.
fn is_recorded(record: &CallRecord) -> bool {
    let is_of_script = |item: &RecordedItem| item.definition.is_some() || !is_own_name(item.kind, &item.name);
    record.item.as_ref().is_some_and(is_of_script) && ItemKind::used_by(&record.method).is_some()
}

/// A call that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLine {
    pub id: String,
    /// When it began, as RFC 3339 in UTC.
    pub at: String,
    pub ms: f64,
    pub method: String,
    /// The published name or URI.
    pub name: String,
    /// Whether an item of this name was published. A resource may be read that only a result has named.
    pub published: bool,
    /// The server of the published item, and the name or URI there.
    pub origin: Option<(String, String)>,
    pub user: UserLine,
    pub client: ClientLine,
    /// `stdio`, `http` or `control`.
    pub source: String,
    /// The digest of the session, as a number.
    pub session: Option<u64>,
    /// The headers that scripts see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The digest of the session script.
    pub script: Option<String>,
    pub params: Option<Raw>,
    pub outcome: CallOutcome,
    pub refusal: Option<CallRefusal>,
    /// Before it was encoded for the revision of the client, if `ended`.
    pub result: Option<Raw>,
    /// Whether the call of the item ended within this request. One that was cancelled did not.
    pub ended: bool,
    /// The questions of the script, with the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AnsweredQuestion>,
    /// In the order in which they ended.
    pub server_calls: Vec<ServerCallLine>,
    /// How many more there were.
    #[serde(default)]
    pub more_server_calls: usize,
    /// Whether the script read values that earlier calls may have stored.
    #[serde(default)]
    pub reads_state: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserLine {
    pub sub: String,
    pub email: String,
    pub name: String,
    pub groups: Vec<String>,
    pub claims: Raw,
    pub anonymous: bool,
    pub local: bool,
    /// Empty if the user was not authenticated by an issuer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub issuer: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientLine {
    /// Empty for calls that do not arrive over the protocol.
    pub protocol_version: String,
    pub info: Option<Raw>,
    pub capabilities: Option<Raw>,
}

/// One call of a server, or of a local tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerCallLine {
    pub server: String,
    pub method: String,
    pub params: Raw,
    pub outcome: CallOutcome,
    pub result: Option<Raw>,
}

impl CallLine {
    /// `None` for requests that are not recorded.
    pub fn of(record: &CallRecord) -> Option<Self> {
        let item = record.item.as_ref().filter(|_| is_recorded(record))?;
        let handled = record.replay.handled.as_ref();
        // The result of a call that asks is made later: it has the questions.
        let result = handled.and_then(|handled| handled.result.as_ref()).or(record.result.as_ref());
        Some(CallLine {
            id: record.id.clone(),
            at: timestamp(record.began),
            ms: (record.duration.as_secs_f64() * 100_000.0).round() / 100.0,
            method: record.method.to_string(),
            name: item.name.clone(),
            published: item.definition.is_some(),
            origin: item.origin.as_ref().map(|(server, name)| (server.to_string(), name.to_string())),
            user: UserLine::of(&record.principal),
            client: ClientLine::of(&record.client),
            source: record.source.as_str().to_owned(),
            session: record.replay.session,
            headers: record.replay.headers.to_vec(),
            script: record.policy.as_deref().map(str::to_owned),
            params: record.params.clone(),
            outcome: handled.map_or_else(|| record.outcome.clone(), |handled| handled.outcome.clone()),
            refusal: record.refusal.clone(),
            result: result.cloned(),
            ended: handled.is_some(),
            questions: record.replay.questions.clone(),
            server_calls: record.server_calls.iter().map(ServerCallLine::of).collect(),
            more_server_calls: record.more_server_calls,
            reads_state: record.replay.reads_state,
        })
    }

    /// When it began; the epoch if the text is no time.
    pub fn began(&self) -> SystemTime {
        self.at.parse::<Timestamp>().map_or(SystemTime::UNIX_EPOCH, Into::into)
    }

    pub fn kind(&self) -> ItemKind {
        ItemKind::used_by(&self.method).unwrap_or(ItemKind::Tool)
    }

    /// The arguments of a tool or prompt.
    pub fn arguments(&self) -> Value {
        let params = self.params.as_ref().map(|params| serde_json::from_str::<Value>(params.get()).unwrap_or_default());
        params.and_then(|mut params| params.get_mut("arguments").map(Value::take)).unwrap_or_default()
    }
}

impl UserLine {
    fn of(principal: &Principal) -> Self {
        UserLine {
            sub: principal.sub().to_owned(),
            email: principal.email.to_string(),
            name: principal.name.to_string(),
            groups: principal.groups.to_vec(),
            claims: valid(principal.claims.to_string()).unwrap_or_else(|_| RawRef::EMPTY_OBJECT.to_owned()),
            anonymous: principal.is_anonymous(),
            local: principal.is_local(),
            issuer: principal.issuer().to_owned(),
            scopes: principal.scopes.to_vec(),
        }
    }

    pub(in crate::backtest) fn principal(&self) -> Principal {
        let realm = match self.issuer.as_str() {
            _ if self.anonymous => Realm::Anonymous,
            _ if self.local => Realm::Local,
            "" => Realm::Static,
            issuer => Realm::Issuer(issuer.into()),
        };
        Principal::of(realm, &self.sub).with(|user| {
            user.email = self.email.as_str().into();
            user.name = self.name.as_str().into();
            user.groups = self.groups.clone().into();
            user.claims = self.claims.get().into();
            user.scopes = self.scopes.clone().into();
        })
    }
}

impl ClientLine {
    fn of(client: &ClientInfo) -> Self {
        ClientLine {
            protocol_version: client.protocol_version.to_owned(),
            info: client.implementation.clone(),
            capabilities: client.capabilities.clone(),
        }
    }

    /// `None` for calls that do not arrive over the protocol.
    pub(in crate::backtest) fn revision(&self) -> Option<Revision> {
        Revision::parse(&self.protocol_version)
    }

    pub(in crate::backtest) fn client_info(&self) -> Arc<ClientInfo> {
        Arc::new(ClientInfo {
            protocol_version: self.revision().map_or("", Revision::as_str),
            implementation: self.info.clone(),
            capabilities: self.capabilities.clone(),
        })
    }
}

impl ServerCallLine {
    fn of(call: &ServerCallRecord) -> Self {
        ServerCallLine {
            server: call.server.to_string(),
            method: call.method.to_string(),
            params: Raw::clone(&call.params),
            outcome: call.outcome.clone(),
            result: call.result.clone(),
        }
    }

    /// The kind of the item that is used, and its name or URI at the server. `None` for other methods.
    pub(in crate::backtest) fn item(&self) -> Option<(ItemKind, String)> {
        let kind = ItemKind::used_by(&self.method)?;
        let params: Value = serde_json::from_str(self.params.get()).ok()?;
        Some((kind, params.get(kind.use_member())?.as_str()?.to_owned()))
    }
}
