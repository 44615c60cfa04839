//! Sends one request to a server: waits for a permit, asks the circuit breaker, and chooses the connection.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::SemaphorePermit;

use crate::backend::call::{Answer, BackendCall, CallError, Peer, SHUTTING_DOWN};
use crate::backend::connection::{CallLimits, Connection, ConnectionFailure};
use crate::backend::supervision::{SideClient, SideConnectionError, SideKey, SupervisedServer};

/// Sends a request and waits for its response, whatever that is.
pub(super) async fn dispatch(server: &SupervisedServer, call: &BackendCall) -> Result<Answer, CallError> {
    let mut limits = server.call_limits(call.timeout);
    server.breaker.check().inspect_err(|_| server.reconnect_if_down())?;
    let _permit = if needs_permit(call) { Some(acquire_permit(server, call, &mut limits).await?) } else { None };
    let admitted = server.breaker.admit().inspect_err(|_| server.reconnect_if_down())?;
    let outcome = send(server, call, limits).await;
    // A timeout says nothing about the server if the caller set a shorter one.
    let is_short = matches!(outcome, Err(CallError::Timeout { .. })) && limits.idle < server.limits.idle;
    if !is_short {
        admitted.report(&outcome);
    }
    outcome
}

/// Whether a request counts toward `maxConcurrent`. Requests about tasks do not: otherwise those that wait for tasks could
/// block those that end them.
fn needs_permit(call: &BackendCall) -> bool {
    !call.method.starts_with("tasks/")
}

/// Waits until fewer than `maxConcurrent` calls are running, for at most `maxTimeout`. The time of the call begins
/// afterwards. Dropping the future leaves the queue.
async fn acquire_permit<'a>(
    server: &'a SupervisedServer,
    call: &BackendCall,
    limits: &mut CallLimits,
) -> Result<SemaphorePermit<'a>, CallError> {
    if let Ok(permit) = server.permits.try_acquire() {
        return Ok(permit);
    }
    tracing::debug!(server = %server.name, method = %call.method, "call queued (`maxConcurrent`)");
    let permit = tokio::select! {
        biased;
        permit = server.permits.acquire() => permit,
        () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        () = server.stop.cancelled() => return Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(limits.total) => {
            let (backend, after) = (Arc::clone(&server.name), limits.started.elapsed());
            return Err(CallError::Busy { backend, limit: server.limits.max_concurrent, after });
        }
    };
    limits.started = Instant::now();
    permit.map_err(|_| server.down(SHUTTING_DOWN))
}

/// Sends a request on the connection of its client. Sends it once more if that connection turns out to be stale, because
/// the server then has not acted on it.
async fn send(server: &SupervisedServer, call: &BackendCall, limits: CallLimits) -> Result<Answer, CallError> {
    let mut stale: Option<Arc<Connection>> = None;
    let mut lost_leg = false;
    loop {
        let main = match server.live_connection(stale.as_ref()) {
            Some(connection) => connection,
            None => Box::pin(server.connection(call.cancel.token(), limits, stale.as_ref())).await?,
        };
        let mut side_key = match call.peer.as_deref() {
            Some(peer) => server.side_key(peer.owner(), peer.profile(), Some(&call.method), &main)?,
            None => None,
        };
        let connection = match side_key.clone() {
            None => main,
            Some(key) => {
                let opened = Box::pin(side_connection(server, call, &key, &main, limits)).await;
                match opened {
                    Err(NotOpened::LegLost) if !lost_leg => {
                        lost_leg = true;
                        continue;
                    }
                    Err(NotOpened::LegLost) => {
                        return Err(server.side_connection_error(SideConnectionError::NoSuchEra));
                    }
                    Err(NotOpened::Full) => {
                        side_key = server.side_connections.largest_subset(&key, main.declared());
                        match &side_key {
                            Some(key) => server.open_side_connection(key, main.signals()).await?,
                            None => main,
                        }
                    }
                    Ok(outcome) => outcome?,
                }
            }
        };
        match connection.call(call, limits).await {
            Ok(answer) => return Ok(answer),
            Err(ConnectionFailure::Final(error)) => return Err(error),
            Err(ConnectionFailure::Stale) if stale.is_some() => {
                return Err(server.down("its session or protocol version keeps changing"));
            }
            Err(ConnectionFailure::Stale) => {
                if let Some(key) = &side_key {
                    server.side_connections.remove_stale(key, &connection);
                }
                stale = Some(connection);
            }
        }
    }
}

/// Why a client has to use another connection.
enum NotOpened {
    /// The server no longer speaks the era of the connection. From now on its clients use the other one.
    LegLost,
    /// There are too many. A shared one with fewer abilities will do.
    Full,
}

async fn side_connection(
    server: &SupervisedServer,
    call: &BackendCall,
    key: &SideKey,
    main: &Connection,
    limits: CallLimits,
) -> Result<Result<Arc<Connection>, CallError>, NotOpened> {
    let peer = call.peer.as_deref();
    let between_calls = peer.filter(|_| key.owner.is_some()).and_then(Peer::between_calls);
    let person = peer.map(Peer::person);
    let client = SideClient { person, gone: peer.and_then(Peer::gone), between_calls };
    Ok(tokio::select! {
        biased;
        opened = server.side_connections.get(key, &client, main.signals()) => match opened {
            Err(SideConnectionError::NoSuchEra) => return Err(NotOpened::LegLost),
            Err(SideConnectionError::Full(_)) if key.owner.is_none() => return Err(NotOpened::Full),
            opened => opened.map_err(|error| server.side_connection_error(error)),
        },
        () = call.cancel.cancelled() => Err(CallError::Cancelled),
        () = server.stop.cancelled() => Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(limits.remaining()) => Err(server.still_starting()),
    })
}
