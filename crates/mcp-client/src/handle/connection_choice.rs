//! Chooses the connection for a request: the one that matches the client's era and abilities, or the next best.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::call::{CallError, Peer, SHUTTING_DOWN, Subscriber};
use crate::connection::{CallLimits, Connection};
use crate::supervision::{SideClient, SideConnectionError, SideKey, SupervisedServer};

/// Who needs a connection.
#[derive(Clone, Copy)]
pub(super) enum Requester<'a> {
    /// The proxy itself.
    Proxy,
    Caller(&'a Arc<dyn Peer>),
    Subscriber(&'a Subscriber),
}

impl Requester<'_> {
    fn side_key(
        self,
        server: &SupervisedServer,
        method: &str,
        main: &Connection,
    ) -> Result<Option<SideKey>, CallError> {
        match self {
            Requester::Proxy => Ok(None),
            Requester::Caller(peer) => server.side_key(peer.owner(), peer.profile(), Some(method), main),
            Requester::Subscriber(one) => server.side_key(&one.owner, one.profile, Some(method), main),
        }
    }

    /// The client that a side connection is opened for.
    pub(super) fn side_client(self, key: &SideKey) -> SideClient {
        match self {
            Requester::Proxy => SideClient::default(),
            Requester::Caller(peer) => SideClient {
                person: Some(peer.person()),
                gone: peer.gone(),
                between_calls: key.owner.as_ref().and_then(|_| peer.between_calls()),
            },
            Requester::Subscriber(one) => {
                SideClient { person: Some(one.person.clone()), gone: one.gone.clone(), between_calls: None }
            }
        }
    }
}

/// A request that needs a connection.
#[derive(Clone, Copy)]
pub(super) struct ConnectionRequest<'a> {
    pub(super) requester: Requester<'a>,
    pub(super) method: &'a str,
    pub(super) cancel: &'a CancellationToken,
    pub(super) limits: CallLimits,
    /// A main connection that is no longer usable.
    pub(super) stale: Option<&'a Arc<Connection>>,
}

/// The connection for a request.
pub(super) struct ChosenConnection {
    pub(super) main: Arc<Connection>,
    /// The side connection to use instead of the main one.
    pub(super) side: Option<(SideKey, Arc<Connection>)>,
}

impl ChosenConnection {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        self.side.as_ref().map_or(&self.main, |(_, connection)| connection)
    }
}

/// The connection for a request, opened if there is none.
pub(super) async fn choose(
    server: &SupervisedServer,
    request: ConnectionRequest<'_>,
) -> Result<ChosenConnection, CallError> {
    let main = match server.live_connection(request.stale) {
        Some(connection) => connection,
        None => Box::pin(server.connection(request.cancel, request.limits, request.stale)).await?,
    };
    let Some(key) = request.requester.side_key(server, request.method, &main)? else {
        return Ok(ChosenConnection { main, side: None });
    };
    match server.side_connections.opened(&key) {
        Some(connection) => Ok(ChosenConnection { main, side: Some((key, connection)) }),
        None => Box::pin(choose_side(server, request, main, key)).await,
    }
}

async fn choose_side(
    server: &SupervisedServer,
    request: ConnectionRequest<'_>,
    main: Arc<Connection>,
    key: SideKey,
) -> Result<ChosenConnection, CallError> {
    let next_best = match open(server, request, &main, &key).await? {
        Ok(connection) => return Ok(ChosenConnection { main, side: Some((key, connection)) }),
        // From now on its clients use another leg.
        Err(SideConnectionError::NoLeg) => request.requester.side_key(server, request.method, &main)?,
        Err(SideConnectionError::Full(reason)) if key.owner.is_none() => {
            tracing::debug!(server = %server.name, "uses a connection with fewer capabilities: {reason}");
            server.side_connections.largest_subset(&key, main.declared())
        }
        Err(error) => return Err(server.side_connection_error(error)),
    };
    let Some(key) = next_best else { return Ok(ChosenConnection { main, side: None }) };
    match open(server, request, &main, &key).await? {
        Ok(connection) => Ok(ChosenConnection { main, side: Some((key, connection)) }),
        Err(error) => Err(server.side_connection_error(error)),
    }
}

/// Opens a side connection for as long as the request may wait.
async fn open(
    server: &SupervisedServer,
    request: ConnectionRequest<'_>,
    main: &Connection,
    key: &SideKey,
) -> Result<Result<Arc<Connection>, SideConnectionError>, CallError> {
    let client = request.requester.side_client(key);
    tokio::select! {
        biased;
        opened = server.side_connections.get(key, &client, main.signals()) => Ok(opened),
        () = request.cancel.cancelled() => Err(CallError::Cancelled),
        () = server.stop.cancelled() => Err(server.down(SHUTTING_DOWN)),
        () = tokio::time::sleep(request.limits.remaining()) => Err(server.still_starting()),
    }
}
