//! Which era a server speaks, and what it says of itself.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use serde_json::{Value, json};

use super::params;
use super::params::{Additions, Stateless};
use crate::backend::transport::any_transport::{Outgoing, Transport, TransportError};
use crate::backend::transport::http::exchange::HttpTransport;
use crate::backend::transport::server_requests::Terms;
use crate::config::{ProtocolChoice, ServerConfig};
use crate::model::{Abilities, ServerInfo};
use crate::wire::{Revision, code, key};

/// How long a second look at a server may take that we have doubts about.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// What was settled with a server.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) revision: Revision,
    pub(crate) info: ServerInfo,
    /// What the server was told that its clients can do.
    pub(crate) declared: Abilities,
}

/// What earlier starts of the same server taught us.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// It dies of the probe or leaves it unanswered: go straight to `initialize`.
    pub(crate) skip_probe: bool,
    /// It changes its era back and forth: try `initialize` first.
    pub(crate) prefer_older: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    /// The process ended when it saw the probe: start it again, without.
    #[error("it ended when it was asked for its protocol version")]
    DiedOfProbe,
    /// Nothing can be posted where it is: it may speak HTTP+SSE.
    #[error("{0}")]
    NothingToPostTo(String),
    #[error("{0}")]
    Failed(String),
}

impl From<TransportError> for HandshakeError {
    fn from(error: TransportError) -> Self {
        HandshakeError::Failed(error.to_string())
    }
}

/// What a server will be told of its clients.
#[derive(Clone, Debug)]
pub(crate) enum Declared {
    These(Abilities),
    /// What the only client can do; known as soon as it has shaken hands, which may be while the server starts.
    OfSoleClient(Arc<ArcSwapOption<Abilities>>),
}

impl Declared {
    fn now(&self) -> Abilities {
        match self {
            Declared::These(abilities) => *abilities,
            Declared::OfSoleClient(client) => {
                client.load().as_ref().map_or_else(Abilities::default, |sole| sole.shared())
            }
        }
    }
}

/// A link, what its server will be told of the clients, and how long they may take to answer it.
struct Handshake<'a> {
    link: &'a Transport,
    declared: &'a Declared,
    patience: Duration,
}

impl std::ops::Deref for Handshake<'_> {
    type Target = Transport;

    fn deref(&self) -> &Transport {
        self.link
    }
}

/// Settles the era. The probe is `server/discover`: harmless where it is not understood.
pub(crate) async fn settle(
    link: &Transport,
    server: &ServerConfig,
    declared: &Declared,
    memory: &mut Memory,
) -> Result<Settled, HandshakeError> {
    let link = &Handshake { link, declared, patience: server.input_timeout };
    match &server.protocol {
        ProtocolChoice::Pinned(version) => match Revision::parse(version) {
            Some(revision) if revision.is_stateless() => pinned_stateless(link, revision).await,
            Some(revision) => initialize(link, revision).await,
            None => Err(HandshakeError::Failed(format!("the protocol version `{version}` is not known"))),
        },
        ProtocolChoice::Auto if memory.prefer_older => match initialize(link, Revision::LATEST_SESSION).await {
            Ok(settled) => Ok(settled),
            Err(_) => probe(link, server.probe_timeout, memory).await,
        },
        ProtocolChoice::Auto if memory.skip_probe => match initialize(link, Revision::LATEST_SESSION).await {
            Ok(settled) => Ok(settled),
            Err(error) => {
                memory.skip_probe = false;
                Err(error)
            }
        },
        ProtocolChoice::Auto => probe(link, server.probe_timeout, memory).await,
    }
}

/// Settles with a server over HTTP+SSE, which no stateless version has.
pub(crate) async fn settle_older(
    link: &Transport,
    server: &ServerConfig,
    declared: &Declared,
) -> Result<Settled, HandshakeError> {
    let revision = match &server.protocol {
        ProtocolChoice::Pinned(version) => Revision::parse(version).filter(|revision| !revision.is_stateless()),
        ProtocolChoice::Auto => None,
    };
    let link = Handshake { link, declared, patience: server.input_timeout };
    initialize(&link, revision.unwrap_or(Revision::LATEST_SESSION)).await
}

async fn pinned_stateless(link: &Handshake<'_>, revision: Revision) -> Result<Settled, HandshakeError> {
    match discover(link, revision).await {
        Ok(result) => Ok(stateless(link, &result, revision)),
        Err(error) => Err(error.into()),
    }
}

async fn probe(link: &Handshake<'_>, patience: Duration, memory: &mut Memory) -> Result<Settled, HandshakeError> {
    let mut probe = std::pin::pin!(discover(link, Revision::LATEST));
    match tokio::time::timeout(patience, &mut probe).await {
        Ok(outcome) => verdict(link, outcome).await,
        Err(_) => ask_both_ways(link, probe, memory).await,
    }
}

/// The server may be slow to start rather than deaf: asks the other way too, and the first success decides.
async fn ask_both_ways(
    link: &Handshake<'_>,
    mut probe: std::pin::Pin<&mut impl Future<Output = Result<Value, TransportError>>>,
    memory: &mut Memory,
) -> Result<Settled, HandshakeError> {
    let mut handshake = std::pin::pin!(initialize(link, Revision::LATEST_SESSION));
    tokio::select! {
        outcome = &mut probe => match &outcome {
            // It has our `initialize` already; a second one would be an error to many servers.
            outcome if !is_stateless(outcome) => handshake.await,
            _ => verdict(link, outcome).await,
        },
        settled = &mut handshake => match settled {
            Ok(settled) => {
                memory.skip_probe = true;
                Ok(settled)
            }
            Err(refusal) => match probe.await {
                Ok(result) => chosen(link, &result).await,
                Err(_) => Err(refusal),
            },
        },
    }
}

/// Whether the answer to the probe shows a server of the stateless era.
fn is_stateless(outcome: &Result<Value, TransportError>) -> bool {
    let newest = |versions: &Value| mutual(versions).first().is_some_and(|revision| revision.is_stateless());
    match outcome {
        Ok(result) => !result["supportedVersions"].is_array() || newest(&result["supportedVersions"]),
        Err(TransportError::Rpc(error) | TransportError::Misfit(error)) => match error.code() {
            code::UNSUPPORTED_VERSION => newest(&error.data().unwrap_or_default()["supported"]),
            code => matches!(code, code::HEADER_MISMATCH | code::MISSING_CAPABILITY),
        },
        Err(_) => false,
    }
}

async fn verdict(link: &Handshake<'_>, outcome: Result<Value, TransportError>) -> Result<Settled, HandshakeError> {
    match outcome {
        Ok(result) => chosen(link, &result).await,
        Err(TransportError::Rpc(error) | TransportError::Misfit(error)) => match error.code() {
            code::UNSUPPORTED_VERSION => {
                let data = error.data().unwrap_or_default();
                refused_version(link, &data["supported"]).await
            }
            // It knows the modern rules; what it can do will show when its lists are asked for.
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY => {
                let result = json!({"capabilities": {"tools": {}, "resources": {}, "prompts": {}}});
                Ok(stateless(link, &result, Revision::LATEST))
            }
            // Whatever the code: a server of the older era may say anything to a method it does not know.
            _ => fall_back(link, &error.to_string()).await,
        },
        Err(TransportError::Unexpected(answer)) if !says_nothing(answer.status) => {
            fall_back(link, &TransportError::Unexpected(answer).to_string()).await
        }
        Err(TransportError::Closed(_)) if matches!(link.link, Transport::Stdio(_)) => Err(HandshakeError::DiedOfProbe),
        Err(error @ TransportError::OlderTransport) => Err(HandshakeError::NothingToPostTo(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Whether another era is spoken now where this revision was agreed on. Asked aside, so that nothing is given up for an
/// error that only looks like it.
pub(crate) async fn has_changed_from(link: &HttpTransport, agreed: Revision) -> bool {
    let link = Transport::Http(link.anew());
    let declared = Declared::These(Abilities::default());
    let link = Handshake { link: &link, declared: &declared, patience: Duration::ZERO };
    let outcome = tokio::time::timeout(SECOND_LOOK, discover(&link, Revision::LATEST)).await;
    let stateless = match outcome {
        Ok(outcome) if is_stateless(&outcome) => true,
        Ok(Ok(_) | Err(TransportError::Rpc(_) | TransportError::Misfit(_))) => false,
        Ok(Err(TransportError::Unexpected(answer))) if !says_nothing(answer.status) => false,
        _ => return false,
    };
    stateless != agreed.is_stateless()
}

/// Whether an HTTP status tells nothing about the era.
pub(crate) fn says_nothing(status: u16) -> bool {
    matches!(status, 401 | 403 | 429 | 500..)
}

/// Chooses among the versions a server says it supports.
async fn chosen(link: &Handshake<'_>, result: &Value) -> Result<Settled, HandshakeError> {
    let supported = mutual(&result["supportedVersions"]);
    match supported.first() {
        // A server that answers and lists nothing has answered in the era it was asked in.
        None if !result["supportedVersions"].is_array() => Ok(stateless(link, result, Revision::LATEST)),
        Some(revision) if revision.is_stateless() => Ok(stateless(link, result, *revision)),
        Some(revision) => initialize(link, *revision).await,
        None => Err(no_mutual_version(&result["supportedVersions"])),
    }
}

async fn refused_version(link: &Handshake<'_>, supported: &Value) -> Result<Settled, HandshakeError> {
    match mutual(supported).first() {
        Some(revision) if revision.is_stateless() => pinned_stateless(link, *revision).await,
        Some(revision) => initialize(link, *revision).await,
        None => Err(no_mutual_version(supported)),
    }
}

fn mutual(supported: &Value) -> Vec<Revision> {
    let theirs: Vec<&str> = supported.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Revision::SUPPORTED.into_iter().filter(|revision| theirs.contains(&revision.as_str())).collect()
}

fn no_mutual_version(supported: &Value) -> HandshakeError {
    HandshakeError::Failed(format!("it supports none of our protocol versions, only {supported}"))
}

async fn fall_back(link: &Handshake<'_>, first_refusal: &str) -> Result<Settled, HandshakeError> {
    initialize(link, Revision::LATEST_SESSION).await.map_err(|error| match error {
        HandshakeError::Failed(second) => HandshakeError::Failed(both(&second, first_refusal)),
        HandshakeError::NothingToPostTo(second) => HandshakeError::NothingToPostTo(both(&second, first_refusal)),
        other => other,
    })
}

fn both(second: &str, first: &str) -> String {
    format!("{second} (and `server/discover`: {first})")
}

async fn discover(link: &Handshake<'_>, revision: Revision) -> Result<Value, TransportError> {
    if let Transport::Http(link) = link.link {
        link.agree(Some(revision));
    }
    let stateless = Stateless { revision, capabilities: None, log_level: None };
    let additions = Additions { stateless: Some(stateless), ..Additions::default() };
    let params = params::params(&crate::json::raw(&json!({})), &additions);
    let result = link.request(Outgoing::plain(link.next_id(), "server/discover", params)).await?;
    let result: Value =
        serde_json::from_str(result.get()).map_err(|error| TransportError::Protocol(error.to_string()))?;
    if result.get("capabilities").is_some() {
        Ok(result)
    } else {
        Err(TransportError::Rpc(crate::wire::RpcError::method_not_found("server/discover")))
    }
}

fn refusal(error: TransportError) -> HandshakeError {
    match &error {
        TransportError::Misfit(_) | TransportError::OlderTransport => {
            HandshakeError::NothingToPostTo(error.to_string())
        }
        TransportError::Unexpected(answer) if matches!(answer.status, 400 | 404 | 405) => {
            HandshakeError::NothingToPostTo(error.to_string())
        }
        _ => error.into(),
    }
}

async fn initialize(link: &Handshake<'_>, revision: Revision) -> Result<Settled, HandshakeError> {
    if let Transport::Http(link) = link.link {
        link.agree(None);
    }
    let client: Value = serde_json::from_str(params::CLIENT_INFO).unwrap_or_default();
    let declared = link.declared.now();
    // Before the handshake is over: a server may ask as soon as it is.
    link.agree_terms(Terms { declared, patience: link.patience });
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": declared.to_capabilities(),
        "clientInfo": client,
    })
    .to_string();
    let result = link.request(Outgoing::plain(link.next_id(), "initialize", params)).await.map_err(refusal)?;
    let result: Value =
        serde_json::from_str(result.get()).map_err(|error| HandshakeError::Failed(error.to_string()))?;
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    let revision = Revision::parse(version).filter(|revision| !revision.is_stateless()).ok_or_else(|| {
        HandshakeError::Failed(format!("it answered `initialize` with the protocol version `{version}`"))
    })?;
    match link.link {
        Transport::Http(link) => link.agree(Some(revision)),
        Transport::Sse(link) => link.agree(revision),
        Transport::Stdio(_) => {}
    }
    link.notify("notifications/initialized", None).await?;
    Ok(Settled { revision, info: described(&result, &result["serverInfo"], revision), declared })
}

/// Settles on the stateless era. An `initialize` asked meanwhile may have changed which headers the link sends.
fn stateless(link: &Handshake<'_>, result: &Value, revision: Revision) -> Settled {
    if let Transport::Http(link) = link.link {
        link.agree(Some(revision));
    }
    let info = described(result, &result["_meta"][key::SERVER_INFO], revision);
    Settled { revision, info, declared: Abilities::default() }
}

fn described(result: &Value, server: &Value, revision: Revision) -> ServerInfo {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ServerInfo {
        name: text(&server["name"]),
        version: text(&server["version"]),
        title: text(&server["title"]),
        instructions: text(&result["instructions"]),
        protocol_version: revision.as_str().to_owned(),
        capabilities: result["capabilities"].clone(),
    }
}
