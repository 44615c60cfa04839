//! The state that a server's supervisor and its handles share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::breaker::Breaker;
use super::holds::Holds;
use super::lists::freshness::Freshness;
use super::lists::variants::{ListSource, Variants};
use super::locked_view::LockedView;
use super::restart::RestartOutcome;
use super::side_connections::{ROOTS_CHANGED, SideClient, SideConnectionError, SideConnections};
use super::side_key::SideKey;
use crate::call::{Attribution, CacheHint, CallError, SHUTTING_DOWN};
use crate::connection::{CachedServer, CallLimits, Connection, Connector, ServerSession};
use crate::transport::{RunningProcess, ServerSubscriptions, Signals};
use proxy_config::ServerConfig;
use proxy_model::lock::ViewLock;
use proxy_model::{Abilities, BackendView, ClientProfile, Era, ItemKind, LoginNeeded, Owner, ServerAddress, Status};

/// The state of a server's main connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionState {
    pub(crate) connection: Option<Arc<Connection>>,
    /// The number of successful attempts to connect.
    pub(crate) connections: u64,
    /// How many of them were the first after the server was needed.
    pub(super) starts: u64,
    /// The number of failed attempts to connect.
    pub(crate) failures: u64,
    /// The number of restarts that the user requested.
    pub(super) restarts: u64,
    /// How the first attempt after the last of them ended; `None` while it is not over.
    pub(super) restart_outcome: Option<RestartOutcome>,
    /// Whether the server has been listed on its connection.
    pub(super) is_listed: bool,
    /// Why there is no connection.
    pub(crate) error: String,
    /// Set while the supervisor waits for a log-in instead of trying again.
    pub(crate) login_needed: Option<LoginNeeded>,
}

/// The limits from the server's config.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerLimits {
    /// The timeout of a call without progress.
    pub(crate) idle: Duration,
    /// The timeout of a call in all.
    pub(crate) total: Duration,
    pub(crate) max_concurrent: usize,
    /// How long a client may take to answer a question of the server.
    pub(crate) input: Duration,
}

#[derive(Debug)]
pub(crate) struct SupervisedServer {
    pub(crate) name: Arc<str>,
    /// Where it is; `None` if the proxy starts it.
    pub(crate) address: Option<Arc<ServerAddress>>,
    pub(crate) view: Arc<ArcSwap<BackendView>>,
    pub(crate) state: watch::Receiver<ConnectionState>,
    /// Cuts the supervisor's backoff short.
    pub(crate) reconnect_now: Notify,
    /// Makes the supervisor end the connection, or an attempt to connect, and connect anew.
    pub(super) restart_wanted: Notify,
    /// What keeps it running, and whether it rests until a call needs it.
    pub(crate) holds: Arc<Holds>,
    /// What the cache had at the start, until the sole client is known. `None` if there are many clients.
    pub(super) first_cached: Mutex<Option<CachedServer>>,
    pub(crate) limits: ServerLimits,
    /// One slot per concurrent call (`maxConcurrent`), granted in the order of requests.
    pub(crate) call_slots: Semaphore,
    /// The number of calls that wait for a slot.
    pub(crate) queued: AtomicUsize,
    pub(crate) breaker: Breaker,
    /// Whether every client has a connection of its own (`scope: session`).
    pub(crate) session_scoped: bool,
    pub(super) connector: Arc<Connector>,
    pub(crate) side_connections: Arc<SideConnections>,
    pub(crate) stop: CancellationToken,
    /// Cancelled when the supervisor has ended.
    pub(crate) stopped: CancellationToken,
    /// The subscriptions on the main connection.
    pub(crate) subscriptions: Arc<ServerSubscriptions>,
    /// The age of the lists of the main connection.
    pub(crate) freshness: Freshness,
    pub(crate) variants: Arc<Variants>,
    locked_view: LockedView,
}

impl SupervisedServer {
    pub(super) fn new(
        name: &Arc<str>,
        config: &ServerConfig,
        view: BackendView,
        state: watch::Receiver<ConnectionState>,
        connector: &Arc<Connector>,
        cached: CachedServer,
        holds: Arc<Holds>,
    ) -> Self {
        let stop = CancellationToken::new();
        let environment = connector.environment();
        let view = Arc::new(ArcSwap::from_pointee(view));
        let variants = Arc::new(Variants::new(name, config, environment, &view, &cached));
        SupervisedServer {
            name: Arc::clone(name),
            address: config.transport.address().map(Arc::new),
            view,
            state,
            reconnect_now: Notify::new(),
            restart_wanted: Notify::new(),
            holds,
            first_cached: Mutex::new(environment.audience.is_one().then_some(cached)),
            limits: ServerLimits {
                idle: config.timeout,
                total: config.max_timeout.max(config.timeout),
                max_concurrent: config.max_concurrent,
                input: config.input_timeout,
            },
            queued: AtomicUsize::new(0),
            call_slots: Semaphore::new(config.max_concurrent.min(Semaphore::MAX_PERMITS)),
            breaker: Breaker::new(name, config.circuit_breaker),
            session_scoped: config.session_scoped,
            connector: Arc::clone(connector),
            side_connections: Arc::new(SideConnections::new(Arc::clone(connector), &variants, stop.clone())),
            stop,
            stopped: CancellationToken::new(),
            subscriptions: Arc::default(),
            freshness: Freshness::default(),
            variants,
            locked_view: LockedView::new(environment.lock.clone()),
        }
    }

    /// The view that everybody else sees: what the lock makes of the server's own.
    pub(crate) fn published_view(&self) -> Arc<BackendView> {
        let profile = || self.connector.environment().main_profile().unwrap_or_default();
        self.locked_view.published(self.view.load_full(), profile)
    }

    /// How what clients of this profile see compares with the lock; `None` if the server is not locked.
    pub(crate) fn lock(&self, profile: impl FnOnce() -> Option<ClientProfile>) -> Option<Arc<ViewLock>> {
        if !self.locked_view.is_locked() {
            return None;
        }
        let view = self.published_view();
        match profile().and_then(|profile| view.variant(profile)) {
            Some(variant) => variant.lock.clone(),
            None => view.lock.clone(),
        }
    }

    /// Whether the server is not started until a call needs it.
    pub(crate) fn rests(&self) -> bool {
        self.holds.is_resting()
    }

    /// Completes when a call needs a server that rests.
    pub(super) async fn needed(&self) {
        if self.rests() {
            self.reconnect_now.notified().await;
            self.holds.end_rest();
        }
    }

    /// The processes of the server that are running.
    pub(crate) fn processes(&self) -> Vec<RunningProcess> {
        self.connector.processes.running()
    }

    /// How its questions are shown to people.
    pub(crate) fn attribution(&self) -> &Attribution {
        &self.connector.environment().attribution
    }

    /// The total timeout of a call with this timeout of its own.
    pub(crate) fn total_timeout(&self, timeout: Option<Duration>) -> Duration {
        timeout.unwrap_or(self.limits.total).min(self.limits.total)
    }

    /// The limits of a call with this timeout of its own, whose time begins now. It can only shorten those of the server.
    pub(crate) fn call_limits(&self, timeout: Option<Duration>) -> CallLimits {
        let total = self.total_timeout(timeout);
        let idle = self.limits.idle.min(total);
        CallLimits { idle, total, started: Instant::now(), is_callers: timeout.is_some_and(|own| own <= total) }
    }

    /// The main connection, unless it is the stale one or has closed.
    pub(crate) fn live_connection(&self, stale: Option<&Arc<Connection>>) -> Option<Arc<Connection>> {
        let connection = self.state.borrow().connection.clone().filter(|connection| !connection.is_closed())?;
        stale.is_none_or(|stale| !Arc::ptr_eq(stale, &connection)).then_some(connection)
    }

    /// Fails while the supervisor waits for a log-in, so that callers learn at once which command to run.
    pub(crate) fn check_log_in(&self) -> Result<(), CallError> {
        match &self.state.borrow().login_needed {
            None => Ok(()),
            Some(needed) => Err(self.login_needed(needed)),
        }
    }

    /// Makes the supervisor reconnect at once if there is no connection.
    pub(crate) fn reconnect_if_down(&self) {
        if self.live_connection(None).is_none() {
            self.reconnect_now.notify_one();
        }
    }

    /// How often the server was reconnected after its connection had been lost.
    pub(crate) fn reconnections(&self) -> u64 {
        let state = self.state.borrow();
        state.connections.saturating_sub(state.starts)
    }

    /// Whether the server has to be started for a request, because it rests from time to time.
    pub(crate) fn has_to_wake(&self) -> bool {
        self.holds.settings().is_some() && self.live_connection(None).is_none()
    }

    /// The main connection. If there is none, makes the supervisor reconnect and waits for the outcome of its next attempt.
    pub(crate) async fn connection(
        &self,
        cancel: &CancellationToken,
        limits: CallLimits,
        stale: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live_connection(stale) {
            return Ok(connection);
        }
        self.check_log_in()?;
        let mut state = self.state.clone();
        let failures = state.borrow_and_update().failures;
        // Later attempts may take much longer than the first.
        let patience = match self.view.load().status {
            Status::Failed => limits.remaining().min(self.connector.server.start_timeout),
            _ => limits.remaining(),
        };
        self.reconnect_now.notify_one();
        let wait = async {
            loop {
                if let Some(connection) = self.live_connection(stale) {
                    return Ok(connection);
                }
                self.check_log_in()?;
                if state.borrow().failures > failures || state.changed().await.is_err() {
                    return Err(self.down(&state.borrow().error));
                }
            }
        };
        tokio::select! {
            outcome = wait => outcome,
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = self.stop.cancelled() => Err(self.down(SHUTTING_DOWN)),
            () = tokio::time::sleep(patience) => Err(self.still_starting()),
        }
    }

    /// The main connection for something that the proxy itself wants to know: a server that rests is not started for it.
    pub(super) async fn connection_unless_resting(&self) -> Option<Arc<Connection>> {
        if self.rests() {
            return None;
        }
        self.connection(&CancellationToken::new(), self.call_limits(None), None).await.ok()
    }

    /// Whether all clients of sessions use one connection, whatever they can be asked (`capabilities: shared`).
    pub(crate) fn shares_capabilities(&self) -> bool {
        self.connector.server.shares_capabilities
    }

    /// The key of the side connection that a client needs for a request. `None` if it uses the main connection.
    pub(crate) fn side_key(
        &self,
        owner: &Owner,
        client: ClientProfile,
        method: Option<&str>,
        main: &Connection,
    ) -> Result<Option<SideKey>, CallError> {
        let era = self.era_for(client.era, method, main);
        // A stateless server learns the abilities of the client with every request.
        let abilities = if era == Era::Stateless { Abilities::default() } else { client.abilities };
        if self.session_scoped {
            return match owner {
                Owner::Request(_) => Err(self.refused(
                    "it needs a connection for each client (`scope: session`), and this client is unknown: open a session \
                     or authenticate"
                        .to_owned(),
                )),
                owner => Ok(Some(SideKey { owner: Some(owner.clone()), abilities, era })),
            };
        }
        let is_declared = || self.shares_capabilities() || abilities.shared() == main.declared().shared();
        if era == main.era() && (era == Era::Stateless || is_declared()) {
            return Ok(None);
        }
        Ok(Some(SideKey { owner: None, abilities: abilities.shared(), era }))
    }

    /// Sends `notifications/roots/list_changed` on the connections that belong to this client alone.
    pub(crate) async fn roots_changed(&self, owner: &Owner) {
        // Only the connection of an only client was told of roots.
        if let Some(main) = self.live_connection(None).filter(|main| main.declared().roots_changes)
            && let Err(error) = main.notify(ROOTS_CHANGED, None).await
        {
            tracing::debug!(server = %self.name, %error, "cannot send {ROOTS_CHANGED}");
        }
        self.side_connections.roots_changed(owner).await;
    }

    /// Ends a session at the server that no process goes on with.
    pub(crate) async fn end_session(&self, session: &ServerSession) {
        self.connector.end_session(session).await;
    }

    /// A shared connection that is open or being opened.
    pub(crate) async fn open_side_connection(
        &self,
        key: &SideKey,
        main_signals: &Arc<Signals>,
    ) -> Result<Arc<Connection>, CallError> {
        let opened = self.side_connections.get(key, &SideClient::default(), main_signals).await;
        opened.map_err(|error| self.side_connection_error(error))
    }

    /// How long clients of this profile may cache the list of this kind. A server that is not connected may return with
    /// another list at any time.
    pub(crate) fn cache_hint(&self, kind: ItemKind, profile: ClientProfile) -> CacheHint {
        match self.variants.source(profile) {
            _ if self.view.load().status != Status::Ready => CacheHint::default(),
            ListSource::Main => self.freshness.remaining(kind),
            ListSource::Followed(variant) => variant.freshness.remaining(kind),
            ListSource::Unfollowed(_) => CacheHint::default(),
        }
    }

    /// Lists items of this kind again if their TTL has passed, and waits for the new list. Lists that no connection follows
    /// are followed again, without waiting.
    pub(crate) async fn refresh(&self, kind: ItemKind, profile: ClientProfile) {
        match self.variants.source(profile) {
            ListSource::Main => {
                if let Some(connection) = self.live_connection(None) {
                    tokio::select! {
                        biased;
                        () = self.freshness.refresh(kind, connection.signals()) => {}
                        _ = connection.closed() => {}
                    }
                }
            }
            ListSource::Followed(variant) => variant.freshness.refresh(kind, &variant.signals).await,
            ListSource::Unfollowed(profile) => {
                let Some(_hold) = self.holds.hold_unless_resting() else { return };
                if let Some(main) = self.live_connection(None).filter(|main| !main.is_stateless()) {
                    let key = match profile.era {
                        Era::Session => {
                            SideKey { owner: None, abilities: profile.abilities.shared(), era: profile.era }
                        }
                        // One connection lists for all of them.
                        Era::Stateless => SideKey::STATELESS,
                    };
                    self.side_connections.follow_again(&key, main.signals());
                }
            }
        }
    }

    pub(crate) fn side_connection_error(&self, error: SideConnectionError) -> CallError {
        match error {
            SideConnectionError::Full(reason) | SideConnectionError::HeldElsewhere(reason) => self.refused(reason),
            SideConnectionError::NoLeg => {
                self.down("it no longer speaks this protocol version; send the request again")
            }
            SideConnectionError::LoginNeeded(needed) => self.login_needed(&needed),
            SideConnectionError::Failed(reason) => self.down(&reason),
        }
    }

    fn login_needed(&self, needed: &LoginNeeded) -> CallError {
        CallError::LoginNeeded { backend: Arc::clone(&self.name), reason: needed.to_string() }
    }

    fn refused(&self, reason: String) -> CallError {
        CallError::Refused { backend: Arc::clone(&self.name), reason }
    }

    pub(crate) fn down(&self, reason: &str) -> CallError {
        let reason = if reason.is_empty() { "it is not connected" } else { reason };
        CallError::Down { backend: Arc::clone(&self.name), reason: reason.to_owned() }
    }

    pub(crate) fn still_starting(&self) -> CallError {
        self.down("it is still starting")
    }
}
