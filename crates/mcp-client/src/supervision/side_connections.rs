//! Connections beside the main one. A session-based server learns the abilities of its client in the handshake, so clients
//! with different abilities cannot share a connection. With `scope: session` every client has its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::lists::follow_variant::follow_variant;
use super::lists::variants::Variants;
use super::resubscribe::Resubscriber;
use super::side_connection::{OpenOutcome, SideConnection};
use super::side_holding::{Holding, SideEnd, hold};
use super::side_idle::SideIdle;
use super::side_key::SideKey;
use crate::call::{Peer, SHUTTING_DOWN, SessionEnd};
use crate::connection::{ConnectError, Connection, ConnectionPurpose, Connector};
use crate::transport::{ServerSubscriptions, Signals};
use proxy_base::backoff::Backoff;
use proxy_model::{Abilities, Era, LoginNeeded, Owner};

/// The maximum number of connections that several clients share.
const MAX_SHARED: usize = 8;
/// How many of them may have been opened for one person.
const MAX_SHARED_BY_ONE: usize = 2;
/// How many of them may have been opened for all anonymous clients together.
const MAX_SHARED_BY_ANONYMOUS: usize = 4;
/// The maximum number of connections that belong to one client each.
const MAX_OWN: usize = 1000;
/// The delays before a lost connection with subscriptions is opened again.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(30);

pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

#[derive(Debug)]
pub(crate) enum SideConnectionError {
    /// The limit is reached and all connections are in use. The server itself works.
    Full(String),
    /// The server does not support this protocol era, or cannot be reached in it. Its clients now use the main connection.
    NoLeg,
    /// Only a person can help, by a log-in.
    LoginNeeded(LoginNeeded),
    /// Another process holds the client's connection. The server itself works.
    HeldElsewhere(String),
    Failed(String),
}

/// What a connection is opened for.
struct SideRequest {
    key: SideKey,
    client: SideClient,
    /// The signals of the main connection.
    main_signals: Arc<Signals>,
}

/// The client a connection is opened for.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideClient {
    /// Whose share of the connections it uses. `None` for the proxy itself.
    pub(crate) person: Option<Owner>,
    /// Says when the client's session is over.
    pub(crate) gone: Option<SessionEnd>,
    /// Reaches the client while none of its calls is running.
    pub(crate) between_calls: Option<Arc<dyn Peer>>,
}

#[derive(Debug)]
pub(crate) struct SideConnections {
    connector: Arc<Connector>,
    connections: Mutex<HashMap<SideKey, Arc<SideConnection>>>,
    /// The subscriptions on each connection. They outlive the connection itself.
    subscriptions: Mutex<HashMap<SideKey, Arc<ServerSubscriptions>>>,
    variants: Arc<Variants>,
    stop: CancellationToken,
}

impl SideConnections {
    pub(super) fn new(connector: Arc<Connector>, variants: &Arc<Variants>, stop: CancellationToken) -> Self {
        let variants = Arc::clone(variants);
        SideConnections { connector, connections: Mutex::default(), subscriptions: Mutex::default(), variants, stop }
    }

    /// The subscriptions on the connection for this key.
    pub(crate) fn subscriptions(&self, key: &SideKey) -> Arc<ServerSubscriptions> {
        let mut subscriptions = self.subscriptions.lock();
        // Drops those that neither a connection nor a subscription refers to.
        subscriptions.retain(|_, unused| Arc::strong_count(unused) > 1);
        Arc::clone(subscriptions.entry(key.clone()).or_default())
    }

    /// Whether there is no connection, and none is being opened.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether one of them has subscriptions, or had them before it was lost.
    pub(super) fn have_subscriptions(&self) -> bool {
        self.subscriptions.lock().values().any(|subscriptions| !subscriptions.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SideKey, Arc<SideConnection>>> {
        self.connections.lock()
    }

    /// The connection for this key, if it is open.
    pub(crate) fn opened(&self, key: &SideKey) -> Option<Arc<Connection>> {
        let connections = self.lock();
        let side = connections.get(key)?;
        let connection = side.connection().filter(|connection| !connection.is_closed())?;
        side.touch();
        Some(connection)
    }

    /// The connection for this key, opened if there is none. Concurrent callers wait for the same attempt, which goes on if
    /// a caller stops waiting.
    pub(crate) async fn get(
        self: &Arc<Self>,
        key: &SideKey,
        client: &SideClient,
        main_signals: &Arc<Signals>,
    ) -> Result<Arc<Connection>, SideConnectionError> {
        let side = self.get_or_open(key, client, main_signals).map_err(SideConnectionError::Full)?;
        side.touch();
        let mut outcome = side.outcome.clone();
        let outcome = outcome.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
        match outcome {
            Ok(Some(Ok(connection))) => Ok(connection),
            Ok(Some(Err(ConnectError::NoSuchEra))) => Err(SideConnectionError::NoLeg),
            Ok(Some(Err(ConnectError::LoginNeeded(needed)))) => Err(SideConnectionError::LoginNeeded(needed)),
            Ok(Some(Err(ConnectError::HeldElsewhere(reason)))) => Err(SideConnectionError::HeldElsewhere(reason)),
            Ok(Some(Err(ConnectError::Failed(reason)))) => Err(SideConnectionError::Failed(reason)),
            Ok(None) | Err(_) => Err(SideConnectionError::Failed(SHUTTING_DOWN.to_owned())),
        }
    }

    fn get_or_open(
        self: &Arc<Self>,
        key: &SideKey,
        client: &SideClient,
        main_signals: &Arc<Signals>,
    ) -> Result<Arc<SideConnection>, String> {
        let mut connections = self.lock();
        let is_closed = |side: &SideConnection| side.connection().is_some_and(|connection| connection.is_closed());
        if let Some(side) = connections.get(key).filter(|side| !is_closed(side)) {
            return Ok(Arc::clone(side));
        }
        // One that has closed does not count.
        connections.remove(key);
        let is_own = key.owner.is_some();
        self.check_share(&mut connections, key, client)?;
        let max = if is_own { MAX_OWN } else { MAX_SHARED };
        let is_alike = |other: &SideKey| other.owner.is_some() == is_own;
        if connections.keys().filter(|other| is_alike(other)).count() >= max
            && !self.evict(&mut connections, |other, _| is_alike(other))
        {
            return Err(format!(
                "all of its {max} side connections are in use: wait until a call on one of them has ended"
            ));
        }
        let (sender, outcome) = watch::channel(None);
        let side = Arc::new(SideConnection::new(outcome, client.person.clone()));
        connections.insert(key.clone(), Arc::clone(&side));
        let request = SideRequest { key: key.clone(), client: client.clone(), main_signals: Arc::clone(main_signals) };
        tokio::spawn(Arc::clone(self).open(request, Arc::clone(&side), sender));
        Ok(side)
    }

    /// Opens a connection for its lists, without waiting. No other one is closed for it.
    pub(super) fn follow_again(self: &Arc<Self>, key: &SideKey, main_signals: &Arc<Signals>) {
        let has_room = self.lock().keys().filter(|other| other.owner.is_none()).count() < MAX_SHARED;
        if has_room && let Err(error) = self.get_or_open(key, &SideClient::default(), main_signals) {
            tracing::debug!(server = %self.connector.name, "cannot follow lists: {error}");
        }
    }

    /// Checks that the person of a client may have another connection. A shared one that is idle makes room; the client's own
    /// stays, because the server may know things about that client.
    fn check_share(
        &self,
        connections: &mut HashMap<SideKey, Arc<SideConnection>>,
        key: &SideKey,
        client: &SideClient,
    ) -> Result<(), String> {
        let of_person = |other_key: &SideKey, other: &SideConnection| {
            client.person.is_some() && other.opened_for == client.person && key.counts_with(other_key)
        };
        let is_open = |other: &SideConnection| other.connection().is_none_or(|connection| !connection.is_closed());
        let counted = connections.iter().filter(|(other, side)| of_person(other, side) && is_open(side)).count();
        if key.owner.is_some() {
            let max = self.connector.server.max_per_user;
            return match counted >= max {
                true => Err(format!(
                    "it needs a connection for each client (`scope: session`), and this user already has the maximum of \
                     {max} (`mcpServers.{}.maxPerUser`): end another session first",
                    self.connector.name
                )),
                false => Ok(()),
            };
        }
        let max = match client.person {
            Some(Owner::Everybody) => MAX_SHARED_BY_ANONYMOUS,
            _ => MAX_SHARED_BY_ONE,
        };
        match counted >= max && !self.evict(connections, of_person) {
            true => Err(format!(
                "all {max} connections that this user can have for clients with other capabilities are in use: wait until \
                 one of their calls has ended, or set `scope: session`"
            )),
            false => Ok(()),
        }
    }

    /// Of these connections, closes the least recently used that is idle and has no subscriptions. Returns false if there
    /// is none.
    fn evict(
        &self,
        connections: &mut HashMap<SideKey, Arc<SideConnection>>,
        may_close: impl Fn(&SideKey, &SideConnection) -> bool,
    ) -> bool {
        let idle = connections.iter().filter(|(key, side)| may_close(key, side) && !side.is_busy());
        let idle = idle.filter(|(key, _)| self.subscriptions(key).is_empty());
        let Some(oldest) = idle.max_by_key(|(_, side)| side.idle_time()).map(|(key, _)| key.clone()) else {
            return false;
        };
        let Some(side) = connections.remove(&oldest) else { return true };
        if let Some(connection) = side.connection() {
            if side.held().is_some() {
                connection.leave_session();
            }
            tokio::spawn(async move { connection.stop().await });
        }
        true
    }

    /// Opens a connection and keeps it until it ends. If it cannot be opened, its entry is removed, and all callers that wait
    /// for it get the reason.
    async fn open(
        self: Arc<Self>,
        request: SideRequest,
        side: Arc<SideConnection>,
        sender: watch::Sender<OpenOutcome>,
    ) {
        let subscriptions = self.subscriptions(&request.key);
        let signals = Arc::new(match request.key.era {
            Era::Stateless => Signals::new(&subscriptions),
            Era::Session => Signals::for_side(&request.main_signals, &subscriptions),
        });
        let sole_client = request.client.between_calls.clone().filter(|_| request.key.owner.is_some());
        let declared = request.key.abilities;
        // Whether a server has a stateless leg shows when it is asked.
        let is_trial = request.key == SideKey::STATELESS;
        // Whoever claims a connection has to give it up again, so this is not interrupted.
        let outcome = match hold(&self.connector, &request.key).await {
            Err(error) => Err(error),
            Ok(held) => {
                let earlier = held.as_ref().and_then(|held| held.earlier().cloned());
                if let Some(held) = held {
                    // It is set once, here.
                    let _ = side.held.set(held);
                }
                let leg = request.key.leg();
                let purpose = ConnectionPurpose { declared, leg, signals, sole_client, earlier, is_trial };
                tokio::select! {
                    outcome = self.connector.connect_beside(purpose) => outcome,
                    () = self.stop.cancelled() => Err(SHUTTING_DOWN.to_owned().into()),
                }
            }
        };
        match outcome {
            Err(error) => {
                self.remove(&request.key, &side);
                if let Some(held) = side.held() {
                    held.release().await;
                }
                sender.send_replace(Some(Err(self.variants.not_opened(request.key.era, error).await)));
            }
            Ok(connection) => {
                connection.adopt();
                let begin = async {
                    match side.held.get() {
                        Some(held) => Some(Holding::begin(&self.connector, &connection, held).await),
                        None => None,
                    }
                };
                let ((), holding) = tokio::join!(connection.open_standalone_stream(), begin);
                sender.send_replace(Some(Ok(Arc::clone(&connection))));
                self.keep_boxed(request, side, connection, holding).await;
            }
        }
    }

    /// Notes that a client may have started a task on a connection.
    pub(crate) fn note_task(&self, key: &SideKey) {
        if let Some(side) = self.lock().get(key) {
            side.has_tasks.store(true, Ordering::Relaxed);
        }
    }

    /// The shared connection with the most of these abilities and no other, for a client that cannot have its own. `None` if
    /// the main connection is as good.
    pub(crate) fn largest_subset(&self, key: &SideKey, main: Abilities) -> Option<SideKey> {
        let connections = self.lock();
        let fitting = connections.keys().filter(|other| {
            other.owner.is_none() && other.era == key.era && other.abilities.is_subset_of(key.abilities)
        });
        let best = fitting.max_by_key(|other| other.abilities.count())?;
        (best.abilities.count() > main.count()).then(|| best.clone())
    }

    /// Sends `notifications/roots/list_changed` on the connections that belong to this client alone. Stateless servers request
    /// the roots when they need them.
    pub(crate) async fn roots_changed(&self, owner: &Owner) {
        let own: Vec<Arc<Connection>> = self
            .lock()
            .iter()
            .filter(|(key, _)| key.owner.as_ref() == Some(owner) && key.abilities.roots_changes)
            .filter_map(|(_, side)| side.connection())
            .collect();
        for connection in own.iter().filter(|connection| !connection.is_stateless()) {
            if let Err(error) = connection.notify(ROOTS_CHANGED, None).await {
                tracing::debug!(server = %self.connector.name, %error, "cannot send {ROOTS_CHANGED}");
            }
        }
    }

    /// Removes a connection that a call found to be stale, so that the next call opens a new one.
    pub(crate) fn remove_stale(&self, key: &SideKey, connection: &Arc<Connection>) {
        let side = self.lock().get(key).cloned();
        if let Some(side) = side.filter(|side| side.connection().is_some_and(|open| Arc::ptr_eq(&open, connection))) {
            self.remove(key, &side);
        }
    }

    /// Forgets a connection. Returns false if it was forgotten before.
    fn remove(&self, key: &SideKey, side: &Arc<SideConnection>) -> bool {
        let mut connections = self.lock();
        let is_known = connections.get(key).is_some_and(|known| Arc::ptr_eq(known, side));
        if is_known {
            connections.remove(key);
        }
        is_known
    }

    /// Boxed, because [`SideConnections::keep`] may open the next connection and is thus recursive.
    fn keep_boxed(
        self: Arc<Self>,
        request: SideRequest,
        side: Arc<SideConnection>,
        connection: Arc<Connection>,
        holding: Option<Holding>,
    ) -> BoxFuture<'static, ()> {
        Box::pin(self.keep(request, side, connection, holding))
    }

    /// Waits until a connection is lost, its client is gone, or it has been idle for long. Then closes it.
    async fn keep(
        self: Arc<Self>,
        request: SideRequest,
        side: Arc<SideConnection>,
        connection: Arc<Connection>,
        holding: Option<Holding>,
    ) {
        let (key, subscriptions) = (&request.key, self.subscriptions(&request.key));
        let timeout = self.connector.server.timeout;
        let resubscriber = Resubscriber::new(&self.connector.name, timeout, &subscriptions, &connection);
        let mut tasks = vec![tokio::spawn(resubscriber.run())];
        // Dropped when the lists are not followed any more.
        let (followed, unfollowed) = oneshot::channel::<()>();
        if key.is_listed() {
            if connection.is_stateless() {
                tasks.push(tokio::spawn(Arc::clone(&connection).listen()));
            }
            let (variants, connection) = (Arc::clone(&self.variants), Arc::clone(&connection));
            tasks.push(tokio::spawn(async move {
                follow_variant(&variants, &connection, timeout).await;
                drop(followed);
            }));
        }
        let gone = request.client.gone.clone().filter(|_| key.owner.is_some());
        let client_gone = async {
            match &gone {
                Some(gone) => gone.over().await,
                None => std::future::pending().await,
            }
        };
        let holding_ends = async {
            match &holding {
                Some(holding) => holding.ends(|| side.use_now(&subscriptions)).await,
                None => std::future::pending().await,
            }
        };
        let rest = self.connector.environment().start.rest(&self.connector.server);
        let idle = SideIdle::new(&self.connector.server.transport, key, rest);
        let unused = async {
            loop {
                tokio::time::sleep(idle.check_interval()).await;
                let is_unused = side.idle_time() >= idle.timeout(side.has_tasks.load(Ordering::Relaxed));
                if is_unused && subscriptions.is_empty() && !connection.is_busy() {
                    return;
                }
            }
        };
        let end = tokio::select! {
            reason = connection.closed() => SideEnd::Lost(reason),
            () = client_gone => SideEnd::SessionOver,
            () = unused => SideEnd::Unused,
            _ = unfollowed, if *key == SideKey::STATELESS => SideEnd::Unfollowed,
            () = self.stop.cancelled() => SideEnd::Stopped,
            end = holding_ends => end,
        };
        let was_in_use = self.remove(key, &side);
        if let SideEnd::Lost(reason) = &end
            && was_in_use
        {
            tracing::warn!(server = %self.connector.name, "side connection lost: {reason}");
        }
        for task in tasks {
            task.abort();
            let _ = task.await;
        }
        match holding {
            None => connection.stop().await,
            Some(holding) => {
                let goes_on = match &end {
                    SideEnd::Lost(_) => !connection.is_restarted(),
                    SideEnd::SessionOver => gone.is_some_and(|gone| gone.may_continue()),
                    SideEnd::Stopped => self.connector.environment().holders.is_leaving(),
                    SideEnd::Taken | SideEnd::GivenUp => true,
                    SideEnd::Unused | SideEnd::Unfollowed => false,
                };
                holding.stop(goes_on).await;
            }
        }
        if matches!(end, SideEnd::Lost(_)) {
            self.reopen(&request, &subscriptions).await;
        }
    }

    /// Opens a lost connection again for its subscriptions. Without subscriptions the next call opens it.
    async fn reopen(self: &Arc<Self>, request: &SideRequest, subscriptions: &ServerSubscriptions) {
        let (mut backoff, log_in) = (Backoff::new(FIRST_DELAY, MAX_DELAY), &self.connector.log_in);
        while !subscriptions.is_empty() && !self.stop.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(backoff.next_delay()) => {}
                () = self.stop.cancelled() => return,
            }
            // Taken before the attempt, so that a log-in during it is not missed.
            let changed = log_in.changed();
            match self.get(&request.key, &request.client, &request.main_signals).await {
                Ok(_) => return,
                Err(SideConnectionError::LoginNeeded(_)) => tokio::select! {
                    () = changed => {}
                    () = self.stop.cancelled() => return,
                },
                Err(error) => tracing::debug!(server = %self.connector.name, ?error, "cannot reopen a side connection"),
            }
        }
    }

    /// Closes all open connections, because the user restarts the server.
    pub(super) async fn restart(&self) {
        let is_open = |side: &Arc<SideConnection>| side.connection().is_some();
        let open: Vec<_> = self.lock().extract_if(|_, side| is_open(side)).map(|(_, side)| side).collect();
        let connections: Vec<_> = open.iter().filter_map(|side| side.connection()).collect();
        futures::future::join_all(connections.iter().map(|connection| connection.stop_for_restart())).await;
    }

    /// Closes all connections.
    pub(crate) async fn close_all(&self) {
        let sides: Vec<Arc<SideConnection>> = self.lock().drain().map(|(_, side)| side).collect();
        let is_leaving = self.connector.environment().holders.is_leaving();
        for side in sides {
            if let Some(connection) = side.connection() {
                if is_leaving && side.held().is_some() {
                    connection.leave_session();
                }
                connection.stop().await;
            }
        }
    }
}
