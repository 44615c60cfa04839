//! The handshake with a server that is preferred in the session era: begins with `initialize`, and tries
//! `server/discover` if that is refused or stays unanswered.

use std::time::Duration;

use serde_json::Value;

use super::handshake::{
    HandshakeError, Negotiation, ServerHandshake, ServerMemory, ask_to_initialize, combined, complete_session,
    discover, evaluate_probe, is_refusal, is_stateless, refusal,
};
use crate::transport::{Transport, TransportError};
use proxy_model::Era;
use proxy_wire::Revision;

pub(super) async fn negotiate(
    handshake: &ServerHandshake<'_>,
    timeout: Duration,
    memory: &mut ServerMemory,
) -> Result<Negotiation, HandshakeError> {
    let mut asked = std::pin::pin!(ask_to_initialize(handshake, Revision::LATEST_SESSION));
    match tokio::time::timeout(timeout, &mut asked).await {
        Ok(outcome) => match accepted(handshake, outcome).await {
            Err(Rejection::Refused(refusal)) => {
                let probed = discover(handshake, Revision::LATEST).await;
                stateless_instead(handshake, probed, refusal).await
            }
            Err(Rejection::Failed(error)) => Err(error),
            Ok(negotiation) => Ok(negotiation),
        },
        Err(_) => initialize_and_probe(handshake, asked, timeout, memory).await,
    }
}

/// The server may be slow to start rather than ignore `initialize`: probes it as well. A server that answers both takes the
/// connection for a session.
async fn initialize_and_probe(
    handshake: &ServerHandshake<'_>,
    mut asked: std::pin::Pin<&mut impl Future<Output = Result<Value, TransportError>>>,
    timeout: Duration,
    memory: &mut ServerMemory,
) -> Result<Negotiation, HandshakeError> {
    let mut probe = std::pin::pin!(discover(handshake, Revision::LATEST));
    tokio::select! {
        biased;
        outcome = &mut asked => match accepted(handshake, outcome).await {
            Err(Rejection::Refused(refusal)) => {
                let probed = probe.await;
                stateless_instead(handshake, probed, refusal).await
            }
            Err(Rejection::Failed(error)) => Err(error),
            Ok(negotiation) => Ok(negotiation),
        },
        probed = &mut probe => match is_stateless(&probed) {
            true => {
                if let Ok(outcome) = tokio::time::timeout(timeout, asked).await
                    && let Ok(negotiation) = accepted(handshake, outcome).await
                {
                    return Ok(negotiation);
                }
                memory.avoid = Some(Era::Session);
                evaluate_probe(handshake, probed).await
            }
            false => accepted(handshake, asked.await).await.map_err(|rejection| match rejection {
                Rejection::Refused(error) | Rejection::Failed(error) => error,
            }),
        },
    }
}

/// Why there is no session.
enum Rejection {
    /// The server refused: it may speak the other era.
    Refused(HandshakeError),
    Failed(HandshakeError),
}

async fn accepted(
    handshake: &ServerHandshake<'_>,
    outcome: Result<Value, TransportError>,
) -> Result<Negotiation, Rejection> {
    match outcome {
        Ok(result) => complete_session(handshake, &result).await.map_err(Rejection::Refused),
        Err(error) if is_refusal(&error) => Err(Rejection::Refused(refusal(error))),
        Err(TransportError::Closed(reason)) if matches!(handshake.transport, Transport::Stdio(_)) => {
            Err(Rejection::Failed(HandshakeError::DiedOf(Era::Session, reason)))
        }
        Err(error) => Err(Rejection::Failed(refusal(error))),
    }
}

/// Continues with a server that refused `initialize`, after the response to a probe.
async fn stateless_instead(
    handshake: &ServerHandshake<'_>,
    probed: Result<Value, TransportError>,
    refusal: HandshakeError,
) -> Result<Negotiation, HandshakeError> {
    match probed {
        Ok(_) => evaluate_probe(handshake, probed).await,
        Err(_) if is_stateless(&probed) || names_versions(&probed) => evaluate_probe(handshake, probed).await,
        Err(error @ (TransportError::LoginNeeded(_) | TransportError::Forbidden(_))) => Err(error.into()),
        Err(error) => Err(match refusal {
            HandshakeError::Failed(first) => HandshakeError::Failed(combined(&first, &error.to_string())),
            HandshakeError::PostRefused(first) => HandshakeError::PostRefused(combined(&first, &error.to_string())),
            other => other,
        }),
    }
}

/// Whether the server rejected the version and listed the versions that it supports. There may be no common version.
fn names_versions(probed: &Result<Value, TransportError>) -> bool {
    matches!(probed, Err(TransportError::Rpc(error) | TransportError::Misfit(error))
        if error.code() == proxy_wire::code::UNSUPPORTED_VERSION)
}
