//! Sends one request to a server: waits for a slot (`maxConcurrent`), asks the circuit breaker, and uses the connection of its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::SemaphorePermit;

use super::connection_choice::{ConnectionRequest, Requester, choose};
use super::task_answers;
use crate::call::{Answer, BackendCall, CallError, SHUTTING_DOWN, TimeLimit};
use crate::connection::{CallLimits, Connection, ConnectionFailure, Received};
use crate::supervision::SupervisedServer;

/// Sends a request and waits for its response, whatever that is.
pub(super) async fn dispatch(server: &SupervisedServer, call: &BackendCall) -> Result<Answer, CallError> {
    server.check_log_in()?;
    let mut limits = server.call_limits(call.timeout);
    if waits_for_task(call) {
        limits.idle = limits.total;
    }
    server.breaker.check().inspect_err(|_| reconnect(server))?;
    let _slot = if needs_slot(call) { Some(acquire_slot(server, call, &mut limits).await?) } else { None };
    let admitted = server.breaker.admit(limits.started).inspect_err(|_| reconnect(server))?;
    let received = send(server, call, limits).await;
    let fault = received.as_ref().ok().and_then(|received| received.fault.clone());
    let outcome = received.map(|received| received.answer);
    // The caller's own timeout says nothing about the server.
    let is_callers = matches!(outcome, Err(CallError::Timeout { limit: TimeLimit::Caller, .. }));
    match fault {
        Some(reason) => admitted.report_fault(reason),
        None if is_callers => {}
        None => admitted.report(&outcome),
    }
    if server.holds.settings().is_some() {
        task_answers::note(server, call, &outcome);
    }
    outcome
}

/// Makes a server reconnect that is down. One that rests from time to time is started for the next call that is admitted.
fn reconnect(server: &SupervisedServer) {
    if server.holds.settings().is_none() {
        server.reconnect_if_down();
    }
}

/// Whether a request counts toward `maxConcurrent`. Requests about tasks do not: otherwise those that wait for tasks could
/// block those that end them.
fn needs_slot(call: &BackendCall) -> bool {
    !call.method.starts_with("tasks/")
}

/// Whether the server responds only when a task has ended, which `timeout` does not limit.
fn waits_for_task(call: &BackendCall) -> bool {
    call.method == "tasks/result"
}

/// Waits until fewer than `maxConcurrent` calls are running, for at most `maxTimeout`. The time of the call begins
/// afterwards. Dropping the future leaves the queue.
async fn acquire_slot<'a>(
    server: &'a SupervisedServer,
    call: &BackendCall,
    limits: &mut CallLimits,
) -> Result<SemaphorePermit<'a>, CallError> {
    if let Ok(slot) = server.call_slots.try_acquire() {
        return Ok(slot);
    }
    tracing::debug!(server = %server.name, method = %call.method, "call queued (`maxConcurrent`)");
    let _queued = QueuedCall::new(&server.queued);
    let slot = tokio::select! {
        biased;
        slot = server.call_slots.acquire() => slot,
        () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        () = server.stop.cancelled() => return Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(limits.total) => {
            let (backend, after) = (Arc::clone(&server.name), limits.started.elapsed());
            return Err(CallError::Busy { backend, limit: server.limits.max_concurrent, after });
        }
    };
    limits.started = Instant::now();
    slot.map_err(|_| server.down(SHUTTING_DOWN))
}

/// A call in the queue, counted until it leaves.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn new(queued: &'a AtomicUsize) -> Self {
        queued.fetch_add(1, Ordering::Relaxed);
        QueuedCall(queued)
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends a request on the connection of its client. Sends it once more if that connection turns out to be stale, because
/// the server then has not acted on it.
async fn send(server: &SupervisedServer, call: &BackendCall, limits: CallLimits) -> Result<Received, CallError> {
    let mut stale: Option<Arc<Connection>> = None;
    let requester = call.peer.as_ref().map_or(Requester::Proxy, Requester::Caller);
    loop {
        let (method, cancel) = (call.method.as_ref(), call.cancel.token());
        let request = ConnectionRequest { requester, method, cancel, limits, stale: stale.as_ref() };
        let chosen = choose(server, request).await?;
        match chosen.connection().call(call, limits).await {
            Ok(received) => {
                if let Some((key, _)) = chosen.side.as_ref().filter(|_| call.accepts_tasks) {
                    server.side_connections.note_task(key);
                }
                return Ok(received);
            }
            Err(ConnectionFailure::Final(error)) => return Err(error),
            Err(ConnectionFailure::Stale) if stale.is_some() => {
                return Err(server.down("its session or protocol version keeps changing"));
            }
            Err(ConnectionFailure::Stale) => {
                if let Some((key, connection)) = &chosen.side {
                    server.side_connections.remove_stale(key, connection);
                }
                stale = Some(Arc::clone(chosen.connection()));
            }
        }
    }
}
