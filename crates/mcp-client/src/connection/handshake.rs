//! The handshake: finds out which revision a server speaks, by `initialize` or `server/discover`.

use std::time::Duration;

use serde_json::{Value, json};

use super::params::{self, MetaAdditions, StatelessMeta};
use super::{session_first, stateless_only};
use crate::call::Attribution;
use crate::transport::{HttpTransport, Outgoing, QuestionTerms, Transport, TransportError};
use proxy_config::{ProtocolChoice, ServerConfig};
use proxy_model::{Abilities, Era, LoginNeeded, ServerInfo};
use proxy_wire::{Revision, code, key};

/// How long the check may take whether a server has changed its era.
const ERA_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    pub(crate) revision: Revision,
    pub(crate) info: ServerInfo,
    /// The client abilities that were declared to the server.
    pub(crate) declared: Abilities,
}

/// What earlier handshakes with the same server have shown.
#[derive(Debug, Default)]
pub(crate) struct ServerMemory {
    /// The server exits on the first request of this era or does not respond to it: begin with that of the other.
    pub(crate) avoid: Option<Era>,
    /// Servers of both eras answer in turn: try `initialize` first.
    pub(crate) prefer_older: bool,
    /// How many attempts in a row ran into `startTimeout`.
    pub(super) timeouts: u32,
}

/// A leg is a way to a server in one era: a server that speaks both has two, each with connections of its own. This says
/// on which a connection may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// Either, but that of this era if the server has both.
    Either(Era),
    /// Only the stateless leg, beside a main connection in a session.
    Stateless,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    /// The process exited after the first request of this era was sent, for this reason. If it had read the request, it has
    /// to be started again, and asked in the other era.
    #[error("{1}")]
    DiedOf(Era, String),
    /// The server works, but does not support the required protocol era.
    #[error("it does not support this protocol era")]
    NoSuchEra,
    /// The URL accepts no POST of MCP messages: the server may speak HTTP+SSE.
    #[error("{0}")]
    PostRefused(String),
    /// Only a person can help, by a log-in.
    #[error("{0}")]
    LoginNeeded(LoginNeeded),
    #[error("{0}")]
    Failed(String),
}

impl From<TransportError> for HandshakeError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::LoginNeeded(needed) => HandshakeError::LoginNeeded(needed),
            // A log-in that does not suffice for a handshake does not suffice for anything.
            TransportError::Forbidden(text) => HandshakeError::LoginNeeded(LoginNeeded(text)),
            other => HandshakeError::Failed(other.to_string()),
        }
    }
}

/// The transport, the capabilities declared to the server, and how long clients may take to answer server requests.
pub(super) struct ServerHandshake<'a> {
    pub(super) transport: &'a Transport,
    declared: Abilities,
    input_timeout: Duration,
    attribution: Attribution,
}

impl<'a> ServerHandshake<'a> {
    fn new(transport: &'a Transport, server: &ServerConfig, attribution: &Attribution, declared: Abilities) -> Self {
        let attribution = attribution.clone();
        ServerHandshake { transport, declared, input_timeout: server.input_timeout, attribution }
    }
}

impl std::ops::Deref for ServerHandshake<'_> {
    type Target = Transport;

    fn deref(&self) -> &Transport {
        self.transport
    }
}

/// Performs the handshake. A server that speaks both eras is met in that of the leg; the first request of either era is
/// refused without harm by servers of the other.
pub(super) async fn negotiate(
    transport: &Transport,
    server: &ServerConfig,
    attribution: &Attribution,
    declared: Abilities,
    leg: Leg,
    memory: &mut ServerMemory,
) -> Result<Negotiation, HandshakeError> {
    let handshake = &ServerHandshake::new(transport, server, attribution, declared);
    let timeout = server.probe_timeout;
    match &server.protocol {
        ProtocolChoice::Pinned(version) => match Revision::parse(version) {
            Some(revision) if revision.is_stateless() => pinned_stateless(handshake, revision).await,
            Some(revision) => initialize(handshake, revision).await,
            None => Err(HandshakeError::Failed(format!("unknown protocol version `{version}` in `protocol`"))),
        },
        ProtocolChoice::Auto => match leg {
            Leg::Stateless => stateless_only::negotiate(handshake, timeout).await,
            Leg::Either(_) if memory.prefer_older => session_first::negotiate(handshake, timeout, memory).await,
            Leg::Either(preferred) => match memory.avoid {
                None if preferred == Era::Session => session_first::negotiate(handshake, timeout, memory).await,
                None => probe(handshake, timeout, memory).await,
                Some(avoided) => {
                    let outcome = match avoided {
                        Era::Session => evaluate_probe(handshake, discover(handshake, Revision::LATEST).await).await,
                        Era::Stateless => initialize(handshake, Revision::LATEST_SESSION).await,
                    };
                    outcome.inspect_err(|_| memory.avoid = None)
                }
            },
        },
    }
}

/// Performs the handshake over HTTP+SSE, which no stateless revision has.
pub(super) async fn negotiate_sse(
    transport: &Transport,
    server: &ServerConfig,
    attribution: &Attribution,
    declared: Abilities,
) -> Result<Negotiation, HandshakeError> {
    let revision = match &server.protocol {
        ProtocolChoice::Pinned(version) => Revision::parse(version).filter(|revision| !revision.is_stateless()),
        ProtocolChoice::Auto => None,
    };
    let handshake = ServerHandshake::new(transport, server, attribution, declared);
    initialize(&handshake, revision.unwrap_or(Revision::LATEST_SESSION)).await
}

async fn pinned_stateless(handshake: &ServerHandshake<'_>, revision: Revision) -> Result<Negotiation, HandshakeError> {
    match discover(handshake, revision).await {
        Ok(result) => Ok(stateless(handshake, &result, revision)),
        Err(error) => Err(error.into()),
    }
}

async fn probe(
    handshake: &ServerHandshake<'_>,
    timeout: Duration,
    memory: &mut ServerMemory,
) -> Result<Negotiation, HandshakeError> {
    let mut probe = std::pin::pin!(discover(handshake, Revision::LATEST));
    match tokio::time::timeout(timeout, &mut probe).await {
        Ok(outcome) => evaluate_probe(handshake, outcome).await,
        Err(_) => probe_and_initialize(handshake, probe, timeout, memory).await,
    }
}

/// The server may be slow to start rather than ignore the probe: sends `initialize` as well. A server that answers both
/// takes the connection for a session.
async fn probe_and_initialize(
    handshake: &ServerHandshake<'_>,
    mut probe: std::pin::Pin<&mut impl Future<Output = Result<Value, TransportError>>>,
    timeout: Duration,
    memory: &mut ServerMemory,
) -> Result<Negotiation, HandshakeError> {
    let mut initialization = std::pin::pin!(initialize(handshake, Revision::LATEST_SESSION));
    tokio::select! {
        biased;
        outcome = &mut probe => match &outcome {
            // `initialize` has already been sent, and many servers refuse a second one.
            outcome if !is_stateless(outcome) => initialization.await,
            _ => match tokio::time::timeout(timeout, initialization).await {
                Ok(Ok(negotiation)) => Ok(negotiation),
                Ok(Err(_)) | Err(_) => evaluate_probe(handshake, outcome).await,
            },
        },
        negotiated = &mut initialization => match negotiated {
            Ok(negotiation) => {
                memory.avoid = Some(Era::Stateless);
                Ok(negotiation)
            }
            Err(refusal) => match probe.await {
                Ok(result) => choose_version(handshake, &result).await,
                Err(_) => Err(refusal),
            },
        },
    }
}

/// Whether the response to the probe shows that the server is stateless.
pub(super) fn is_stateless(outcome: &Result<Value, TransportError>) -> bool {
    let newest_is_stateless =
        |versions: &Value| common_versions(versions).first().is_some_and(|revision| revision.is_stateless());
    match outcome {
        Ok(result) => !result["supportedVersions"].is_array() || newest_is_stateless(&result["supportedVersions"]),
        Err(TransportError::Rpc(error) | TransportError::Misfit(error)) => match error.code() {
            code::UNSUPPORTED_VERSION => newest_is_stateless(&error.data().unwrap_or_default()["supported"]),
            code => matches!(code, code::HEADER_MISMATCH | code::MISSING_CAPABILITY),
        },
        Err(_) => false,
    }
}

pub(super) async fn evaluate_probe(
    handshake: &ServerHandshake<'_>,
    outcome: Result<Value, TransportError>,
) -> Result<Negotiation, HandshakeError> {
    match outcome {
        Ok(result) => choose_version(handshake, &result).await,
        Err(TransportError::Rpc(error) | TransportError::Misfit(error)) => match error.code() {
            code::UNSUPPORTED_VERSION => {
                let data = error.data().unwrap_or_default();
                retry_version(handshake, &data["supported"]).await
            }
            // The error code is one of the stateless era. The capabilities will show when the lists are requested.
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY => {
                let result = json!({"capabilities": {"tools": {}, "resources": {}, "prompts": {}}});
                Ok(stateless(handshake, &result, Revision::LATEST))
            }
            // Servers of the session-based era refuse unknown methods with all kinds of codes.
            _ => fall_back(handshake, &error.to_string()).await,
        },
        Err(TransportError::Unexpected(answer)) if !is_inconclusive(answer.status) => {
            fall_back(handshake, &TransportError::Unexpected(answer).to_string()).await
        }
        Err(TransportError::Closed(reason)) if matches!(handshake.transport, Transport::Stdio(_)) => {
            Err(HandshakeError::DiedOf(Era::Stateless, reason))
        }
        Err(error @ TransportError::OlderTransport) => Err(HandshakeError::PostRefused(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Whether the server at this URL no longer speaks the era of the negotiated revision. Probes on a separate transport, so
/// that a misleading error does not cost the connection.
pub(super) async fn has_changed_era(http: &HttpTransport, negotiated: Revision) -> bool {
    let transport = Transport::Http(http.fresh());
    let handshake = ServerHandshake {
        transport: &transport,
        declared: Abilities::default(),
        input_timeout: Duration::ZERO,
        attribution: Attribution::default(),
    };
    let outcome = tokio::time::timeout(ERA_CHECK_TIMEOUT, discover(&handshake, Revision::LATEST)).await;
    let stateless = match outcome {
        Ok(outcome) if is_stateless(&outcome) => true,
        Ok(Ok(_) | Err(TransportError::Rpc(_) | TransportError::Misfit(_))) => false,
        Ok(Err(TransportError::Unexpected(answer))) if !is_inconclusive(answer.status) => false,
        _ => return false,
    };
    match (stateless, negotiated.is_stateless()) {
        (true, false) => !still_has_sessions(&handshake).await,
        (stateless, negotiated) => stateless != negotiated,
    }
}

/// Whether a server that speaks the stateless era opens sessions as well. Ends the session that the question opens.
async fn still_has_sessions(handshake: &ServerHandshake<'_>) -> bool {
    let opened = tokio::time::timeout(ERA_CHECK_TIMEOUT, ask_to_initialize(handshake, Revision::LATEST_SESSION)).await;
    handshake.transport.stop().await;
    matches!(opened, Ok(Ok(_)))
}

/// Whether a server has understood that it was asked something, and refused.
pub(super) fn is_refusal(error: &TransportError) -> bool {
    match error {
        TransportError::Rpc(_) | TransportError::Misfit(_) | TransportError::OlderTransport => true,
        TransportError::Unexpected(answer) => !is_inconclusive(answer.status),
        _ => false,
    }
}

/// Whether an HTTP status says nothing about the era of the server.
pub(super) fn is_inconclusive(status: u16) -> bool {
    matches!(status, 401 | 403 | 429 | 500..)
}

/// Continues with the newest of the supported versions that `server/discover` returned.
async fn choose_version(handshake: &ServerHandshake<'_>, result: &Value) -> Result<Negotiation, HandshakeError> {
    let supported = common_versions(&result["supportedVersions"]);
    match supported.first() {
        // A server that responds without a list of versions speaks the era of the probe.
        None if !result["supportedVersions"].is_array() => Ok(stateless(handshake, result, Revision::LATEST)),
        Some(revision) if revision.is_stateless() => Ok(stateless(handshake, result, *revision)),
        Some(revision) => initialize(handshake, *revision).await,
        None => Err(no_common_version(&result["supportedVersions"])),
    }
}

async fn retry_version(handshake: &ServerHandshake<'_>, supported: &Value) -> Result<Negotiation, HandshakeError> {
    match common_versions(supported).first() {
        Some(revision) if revision.is_stateless() => pinned_stateless(handshake, *revision).await,
        Some(revision) => initialize(handshake, *revision).await,
        None => Err(no_common_version(supported)),
    }
}

fn common_versions(supported: &Value) -> Vec<Revision> {
    let theirs: Vec<&str> = supported.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Revision::SUPPORTED.into_iter().filter(|revision| theirs.contains(&revision.as_str())).collect()
}

fn no_common_version(supported: &Value) -> HandshakeError {
    HandshakeError::Failed(format!("no common protocol version: it supports only {supported}"))
}

async fn fall_back(handshake: &ServerHandshake<'_>, first_refusal: &str) -> Result<Negotiation, HandshakeError> {
    initialize(handshake, Revision::LATEST_SESSION).await.map_err(|error| match error {
        HandshakeError::Failed(second) => HandshakeError::Failed(combined(&second, first_refusal)),
        HandshakeError::PostRefused(second) => HandshakeError::PostRefused(combined(&second, first_refusal)),
        other => other,
    })
}

pub(super) fn combined(second: &str, first: &str) -> String {
    format!("{second} (`server/discover`: {first})")
}

/// The params of a stateless request that has none of its own.
pub(super) fn stateless_params(revision: Revision) -> String {
    let stateless = StatelessMeta { revision, capabilities: None, log_level: None };
    let additions = MetaAdditions { stateless: Some(stateless), ..MetaAdditions::default() };
    params::with_meta(&proxy_json::raw(&json!({})), &additions)
}

pub(super) async fn discover(handshake: &ServerHandshake<'_>, revision: Revision) -> Result<Value, TransportError> {
    if let Transport::Http(http) = handshake.transport {
        http.set_revision(Some(revision));
    }
    let params = stateless_params(revision);
    let result = handshake.request(Outgoing::plain(handshake.next_id(), "server/discover", params)).await?;
    let result: Value =
        serde_json::from_str(result.get()).map_err(|error| TransportError::Protocol(error.to_string()))?;
    if result.get("capabilities").is_some() {
        Ok(result)
    } else {
        Err(TransportError::Rpc(proxy_wire::RpcError::method_not_found("server/discover")))
    }
}

pub(super) fn refusal(error: TransportError) -> HandshakeError {
    match &error {
        TransportError::Misfit(_) | TransportError::OlderTransport => HandshakeError::PostRefused(error.to_string()),
        TransportError::Unexpected(answer) if matches!(answer.status, 400 | 404 | 405) => {
            HandshakeError::PostRefused(error.to_string())
        }
        _ => error.into(),
    }
}

async fn initialize(handshake: &ServerHandshake<'_>, revision: Revision) -> Result<Negotiation, HandshakeError> {
    let result = ask_to_initialize(handshake, revision).await.map_err(refusal)?;
    complete_session(handshake, &result).await
}

/// Sends `initialize` and returns its result.
pub(super) async fn ask_to_initialize(
    handshake: &ServerHandshake<'_>,
    revision: Revision,
) -> Result<Value, TransportError> {
    if let Transport::Http(http) = handshake.transport {
        http.set_revision(None);
    }
    let client: Value = serde_json::from_str(params::CLIENT_INFO.get()).unwrap_or_default();
    let declared = handshake.declared;
    // Set before the handshake is complete: the server may send requests right after it.
    let attribution = handshake.attribution.clone();
    handshake.set_question_terms(QuestionTerms { declared, timeout: handshake.input_timeout, attribution });
    let params = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": declared.to_capabilities(),
        "clientInfo": client,
    })
    .to_string();
    let result = handshake.request(Outgoing::plain(handshake.next_id(), "initialize", params)).await?;
    serde_json::from_str(result.get()).map_err(|error| TransportError::Protocol(error.to_string()))
}

/// Completes a handshake whose `initialize` has this result.
pub(super) async fn complete_session(
    handshake: &ServerHandshake<'_>,
    result: &Value,
) -> Result<Negotiation, HandshakeError> {
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    let revision = Revision::parse(version).filter(|revision| !revision.is_stateless()).ok_or_else(|| {
        HandshakeError::Failed(format!(
            "it responded to `initialize` with the unsupported protocol version `{version}`"
        ))
    })?;
    match handshake.transport {
        Transport::Http(http) => http.set_revision(Some(revision)),
        Transport::Sse(sse) => sse.set_revision(revision),
        Transport::Stdio(_) | Transport::Api(_) => {}
    }
    handshake.notify("notifications/initialized", None).await?;
    let declared = handshake.declared;
    Ok(Negotiation { revision, info: server_info(result, &result["serverInfo"], revision), declared })
}

/// Completes a handshake with a stateless server. Sets the revision again, because an `initialize` sent in the meantime may
/// have reset it.
fn stateless(handshake: &ServerHandshake<'_>, result: &Value, revision: Revision) -> Negotiation {
    if let Transport::Http(http) = handshake.transport {
        http.set_revision(Some(revision));
    }
    let info = server_info(result, &result["_meta"][key::SERVER_INFO], revision);
    Negotiation { revision, info, declared: Abilities::default() }
}

fn server_info(result: &Value, server: &Value, revision: Revision) -> ServerInfo {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ServerInfo {
        name: text(&server["name"]),
        version: text(&server["version"]),
        title: text(&server["title"]),
        instructions: text(&result["instructions"]),
        protocol_version: revision.as_str().to_owned(),
        capabilities: result["capabilities"].clone(),
        implementation: server.clone(),
    }
}
