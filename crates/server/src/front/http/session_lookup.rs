//! The session of a request: found in the table, or revived from its id.

use std::sync::Arc;

use ::http::HeaderMap;

use super::{HttpFront, session_id};
use crate::front::refusal::Refusal;
use crate::front::session::Session;
use crate::front::sessions::{AddedSession, NotAdded};
use crate::methods::{capabilities, resources_subscribe};
use proxy_model::{Home, Principal};
use proxy_store::SessionRecord;
use proxy_wire::{LoggingLevel, Revision, RpcError, headers};

/// The session of a request. Also checks that the header `MCP-Protocol-Version`, if present, is a known version.
pub(super) async fn session(
    front: &HttpFront,
    headers: &HeaderMap,
    principal: &Principal,
) -> Result<Arc<Session>, Refusal> {
    let Some(id) = session_id(headers) else {
        let error = RpcError::invalid_request(
            "no session: send `initialize` and then its `Mcp-Session-Id` with each request, or use protocol version \
             2026-07-28 with `_meta` in every request",
        );
        return Err(Refusal::bad_request(error));
    };
    let session = by_id(front, id, principal).await?;
    if let Some(version) = headers.get(&headers::PROTOCOL_VERSION)
        && !version.to_str().is_ok_and(|version| Revision::parse(version.trim()).is_some())
    {
        let error = RpcError::invalid_request("the header `MCP-Protocol-Version` is not a supported version");
        return Err(Refusal::bad_request(error));
    }
    follow(front, &session, principal);
    Ok(session)
}

/// The session with this id.
pub(super) async fn by_id(front: &HttpFront, id: &str, principal: &Principal) -> Result<Arc<Session>, Refusal> {
    let session = match front.sessions.find(id, principal) {
        Some(session) => session,
        None => Box::pin(revive(front, id, principal)).await?,
    };
    // In the table first: whoever ends a session writes that into the store, and then tells those who have it in their tables.
    session.confirm(|| Box::pin(confirm(front, &session, principal))).await?;
    Ok(session)
}

/// Brings a session back that this process has forgotten, or that another process has opened. Its client has completed the
/// handshake there.
async fn revive(front: &HttpFront, id: &str, principal: &Principal) -> Result<Arc<Session>, Refusal> {
    let opened = front.sessions.open(id, principal).ok_or_else(Refusal::unknown_session)?;
    let handshake = match opened.handshake {
        Some(handshake) => Some(handshake),
        None => {
            let known = front.server.replicas.session(opened.id.sid.digest(), principal).await;
            let known = known.map_err(|_| Refusal::store_away())?;
            known.client.and_then(|client| front.sessions.open_client(&opened.id, principal, &client))
        }
    };
    let handshake = handshake.ok_or_else(Refusal::unknown_session)?;
    let client = handshake.client(principal.clone()).timed(front.server.telemetry.proxy());
    let session = Arc::new(Session::revived(opened.id, client, &front.replay_budget));
    let AddedSession { session, is_new, removed } = front.sessions.add(session).map_err(|reason| match reason {
        NotAdded::Full => Refusal::too_many_sessions(),
        NotAdded::Ended => Refusal::unknown_session(),
    })?;
    front.make_room(removed);
    if is_new {
        front.server.clients.add(Arc::downgrade(&session.client()));
        tracing::debug!("session {} is back; it was opened by {}", session.id.sid.digest(), session.id.home);
    }
    Ok(session)
}

/// Reads from the store what became of a session elsewhere.
async fn confirm(front: &HttpFront, session: &Arc<Session>, principal: &Principal) -> Result<(), Refusal> {
    let known = front.server.replicas.session(session.id.sid.digest(), principal).await.map_err(|error| {
        tracing::warn!("cannot revive a session: {error}");
        Refusal::store_away()
    })?;
    if apply(front, session, &known) { Ok(()) } else { Err(Refusal::unknown_session()) }
}

/// Gives a session what the store knows of it. False if it has ended; then it is removed.
pub(super) fn apply(front: &HttpFront, session: &Arc<Session>, known: &SessionRecord) -> bool {
    if known.has_ended || session.id.born <= known.epoch {
        front.sessions.remove(session);
        front.server.end_sessions([Arc::clone(session)]);
        return false;
    }
    if let Some(level) = known.level.as_deref().and_then(LoggingLevel::parse) {
        session.set_level(level);
    }
    if session.is_listening() {
        if known.listener.is_some_and(|home| home != Home::of_this_process()) {
            // The newest stream counts, wherever it is.
            session.stop_listening();
        } else {
            follow_resources(front, session, known.subscriptions.clone());
        }
    }
    true
}

/// Follows the resources to which the client has subscribed elsewhere: it listens here.
fn follow_resources(front: &HttpFront, session: &Session, uris: Vec<String>) {
    let server = front.server.clone();
    let client = session.client();
    tokio::spawn(async move { resources_subscribe::follow(&server, &client, uris).await });
}

/// Lets other processes know that the client of a session listens here now, and sends it what it follows.
pub(super) fn tell_listener(front: &Arc<HttpFront>, session: &Arc<Session>) {
    if front.server.replicas.store().is_none() {
        return;
    }
    let front = Arc::clone(front);
    let session = Arc::clone(session);
    // The note that this sends comes back, and then the resources are followed.
    tokio::spawn(async move { front.server.replicas.set_listener(session.digest()).await });
}

/// Gives the session another surface if its user has changed, and announces the lists that differ.
fn follow(front: &HttpFront, session: &Arc<Session>, principal: &Principal) {
    let Some((before, now)) = session.follow(principal) else { return };
    front.server.clients.replace(&Arc::downgrade(&before), Arc::downgrade(&now));
    let (gateway, session) = (Arc::clone(&front.server.gateway), Arc::clone(session));
    tokio::spawn(async move {
        let Ok(surface) = gateway.surface(&now.surface_handle).await else { return };
        let Some(seen) = now.session().map(|session| &session.seen_lists) else { return };
        for method in seen.replace(surface.list_digests()) {
            session.notify(method).await;
        }
    });
}

/// Tells the client of a revived session that its lists may have changed: nobody knows what it has seen.
pub(super) fn tell_missed_lists(front: &HttpFront, session: &Arc<Session>) {
    if !session.take_missed_lists() {
        return;
    }
    let server = front.server.clone();
    let session = Arc::clone(session);
    tokio::spawn(async move {
        for method in capabilities::list_notifications(&server, &session.client()).await {
            session.notify(method).await;
        }
    });
}
