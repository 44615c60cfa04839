//! Starts a server that rests before a request is sent to it, so that the time of the request begins when the server is up.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::connection_choice::{ConnectionRequest, Requester, choose};
use crate::call::{Answer, CallError};
use crate::connection::CallLimits;
use crate::supervision::{Hold, SupervisedServer};

/// Longer than any attempt to start a server. Attempts have limits of their own.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps the server running for a request until the hold is dropped, and starts it if it rests.
pub(super) async fn hold_awake(
    server: &SupervisedServer,
    requester: Requester<'_>,
    method: &str,
    cancel: &CancellationToken,
) -> Result<Hold, CallError> {
    let hold = server.holds.hold();
    if server.has_to_wake() {
        Box::pin(wake(server, requester, method, cancel)).await?;
    }
    Ok(hold)
}

async fn wake(
    server: &SupervisedServer,
    requester: Requester<'_>,
    method: &str,
    cancel: &CancellationToken,
) -> Result<(), CallError> {
    server.check_log_in()?;
    let started = Instant::now();
    let admitted = server.breaker.admit(started)?;
    let limits = CallLimits { idle: PATIENCE, total: PATIENCE, started, is_callers: false };
    let chosen = choose(server, ConnectionRequest { requester, method, cancel, limits, stale: None }).await;
    // That it starts says nothing about how it works.
    let Err(error) = chosen else { return Ok(()) };
    let outcome: Result<Answer, CallError> = Err(error.clone());
    admitted.report(&outcome);
    Err(error)
}
