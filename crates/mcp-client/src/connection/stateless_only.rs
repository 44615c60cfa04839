//! The stateless handshake with a server that is known to support the session era, to find out whether it supports both.
//! Only a response proves that it does not: a server that is unreachable or still starting proves nothing about its eras.

use std::pin::{Pin, pin};
use std::time::Duration;

use serde_json::Value;

use super::handshake::{
    HandshakeError, Negotiation, ServerHandshake, discover, evaluate_probe, is_refusal, is_stateless, stateless_params,
};
use crate::transport::{Outgoing, Transport, TransportError};
use proxy_wire::Revision;

pub(super) async fn negotiate(
    handshake: &ServerHandshake<'_>,
    timeout: Duration,
) -> Result<Negotiation, HandshakeError> {
    let mut probe = pin!(discover(handshake, Revision::LATEST));
    let outcome = match tokio::time::timeout(timeout, &mut probe).await {
        Ok(outcome) => Some(outcome),
        Err(_) => match answered_before_ping(handshake, probe.as_mut()).await? {
            // Servers may answer in any order.
            None => tokio::time::timeout(timeout, probe).await.ok(),
            answered => answered,
        },
    };
    match outcome {
        Some(outcome) if is_stateless(&outcome) => evaluate_probe(handshake, outcome).await,
        Some(Err(error)) if !is_refusal(&error) && !is_exit(handshake, &error) => Err(error.into()),
        _ => Err(HandshakeError::NoSuchEra),
    }
}

/// Sends a ping after an unanswered probe. Returns the answer to the probe, or `None` if the server has answered the ping
/// and thus ignores the probe. A server that answers neither is limited by `startTimeout`.
async fn answered_before_ping(
    handshake: &ServerHandshake<'_>,
    probe: Pin<&mut impl Future<Output = Result<Value, TransportError>>>,
) -> Result<Option<Result<Value, TransportError>>, HandshakeError> {
    // Of the stateless era as well: a request without it would settle the era of a server that speaks both.
    let ping = handshake.request(Outgoing::plain(handshake.next_id(), "ping", stateless_params(Revision::LATEST)));
    tokio::select! {
        biased;
        outcome = probe => Ok(Some(outcome)),
        pong = ping => match pong {
            Err(error) if !is_refusal(&error) && !is_exit(handshake, &error) => Err(error.into()),
            _ => Ok(None),
        },
    }
}

/// Whether an error means that a process has exited, as some do when they receive a request of the other era.
fn is_exit(handshake: &ServerHandshake<'_>, error: &TransportError) -> bool {
    matches!((handshake.transport, error), (Transport::Stdio(_), TransportError::Closed(_)))
}
