//! The way to a backend for everybody else: answers at once when it is down.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use super::tasks;
use crate::backend::call::backend_call::{Answer, Backend, Call, CallError};
use crate::backend::call::peer::Peer;
use crate::backend::connection::established::{Connection, Failure, Patience};
use crate::backend::supervision::breaker::Breaker;
use crate::backend::supervision::freshness;
use crate::backend::supervision::freshness::{CacheHint, Freshness};
use crate::backend::supervision::resubscribe;
use crate::backend::supervision::side_connections::{Client, Key, SideConnections, Unopened};
use crate::backend::transport::subscriptions::{Follower, Listener, Subscription, Subscriptions};
use crate::json::Raw;
use crate::model::{Abilities, BackendView, ItemKind, Owner};

/// Where a backend stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) connection: Option<Arc<Connection>>,
    /// How many attempts to connect have worked so far.
    pub(crate) connections: u64,
    /// How many attempts to connect have failed so far.
    pub(crate) failures: u64,
    pub(crate) error: String,
}

/// How long calls may take, where they do not say themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) quiet: Duration,
    pub(crate) limit: Duration,
    pub(crate) max_concurrent: usize,
}

/// A supervised server. Cloning it gives another way to the same one.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) name: Arc<str>,
    pub(crate) view: Arc<ArcSwap<BackendView>>,
    pub(crate) state: watch::Receiver<State>,
    pub(crate) reconnect_now: Arc<Notify>,
    pub(crate) patience: Limits,
    /// First come, first served.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) breaker: Arc<Breaker>,
    /// How long a person may take to answer.
    pub(crate) input_timeout: Duration,
    /// Whether every client has a connection of its own.
    pub(crate) session_scoped: bool,
    pub(crate) sides: Arc<SideConnections>,
    pub(crate) stop: CancellationToken,
    pub(crate) stopped: CancellationToken,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) freshness: Arc<Freshness>,
}

impl Handle {
    /// Ends the server, without waiting for it.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// How often it was connected again after it had been lost.
    pub fn restarts(&self) -> u64 {
        self.state.borrow().connections.saturating_sub(1)
    }

    /// Whether it was stopped and nothing of it is left.
    pub fn is_gone(&self) -> bool {
        self.stopped.is_cancelled()
    }

    /// Ends the server and waits until it is gone.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.sides.stopped().await;
        self.stopped.cancelled().await;
    }

    pub(crate) async fn deliver(&self, call: &Call) -> Result<Answer, CallError> {
        let mut patience = self.patience(call.timeout);
        self.breaker.check().inspect_err(|_| self.wake())?;
        let _turn = if tasks::is_about_task(call) { None } else { Some(self.turn(call, &mut patience).await?) };
        let trial = self.breaker.admit().inspect_err(|_| self.wake())?;
        let outcome = self.attempt(call, patience).await;
        let impatient = matches!(outcome, Err(CallError::Timeout { .. })) && patience.quiet < self.patience.quiet;
        let late = matches!(outcome, Err(CallError::LateStart { .. }));
        // Too slow for a hurried caller, or for one that spent its time in our own queue, does not mean broken.
        if !impatient && !late {
            trial.report(&outcome);
        }
        outcome
    }

    /// How long something may take in all.
    pub(crate) fn limit(&self, timeout: Option<Duration>) -> Duration {
        timeout.unwrap_or(self.patience.limit).min(self.patience.limit)
    }

    /// How long something may take, within what a caller grants.
    pub(crate) fn patience(&self, timeout: Option<Duration>) -> Patience {
        let limit = self.limit(timeout);
        let quiet = timeout.map_or(self.patience.quiet, |timeout| timeout.min(self.patience.limit));
        Patience { quiet, limit, since: Instant::now(), queued: Duration::ZERO }
    }

    /// Waits until fewer calls than allowed are on their way. Whoever no longer waits has left the queue.
    async fn turn(&self, call: &Call, patience: &mut Patience) -> Result<SemaphorePermit<'_>, CallError> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        tracing::debug!(server = %self.name, method = %call.method, "a call waits for its turn");
        let turn = tokio::select! {
            biased;
            turn = self.turns.acquire() => turn,
            () = call.cancel.cancelled() => return Err(CallError::Cancelled),
            () = self.stop.cancelled() => return Err(self.down("the proxy is shutting down")),
            () = tokio::time::sleep(patience.quiet) => {
                let (backend, after) = (Arc::clone(&self.name), patience.since.elapsed());
                return Err(CallError::Busy { backend, limit: self.patience.max_concurrent, after });
            }
        };
        patience.queued = patience.since.elapsed();
        turn.map_err(|_| self.down("the proxy is shutting down"))
    }

    async fn attempt(&self, call: &Call, patience: Patience) -> Result<Answer, CallError> {
        let mut stale: Option<Arc<Connection>> = None;
        loop {
            let main = match self.live(stale.as_ref()) {
                Some(live) => live,
                None => Box::pin(self.connection(&call.cancel, patience, stale.as_ref())).await?,
            };
            let side = match call.peer.as_deref() {
                Some(peer) => self.side(peer.owner(), peer.abilities(), &main)?,
                None => None,
            };
            let connection = match &side {
                None => main,
                Some(key) => Box::pin(self.side_connection(call, key, &main, patience)).await?,
            };
            match connection.call(call, patience).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Stale) if stale.is_some() => {
                    return Err(self.down("its session or protocol version keeps changing"));
                }
                // The server did not act on it; once more on a fresh connection, and only once.
                Err(Failure::Stale) => {
                    if let Some(key) = &side {
                        self.sides.drop_stale(key, &connection);
                    }
                    stale = Some(connection);
                }
            }
        }
    }

    /// Which connection beside the supervised one a client needs, if it needs one.
    pub(crate) fn side(
        &self,
        owner: &Owner,
        abilities: Abilities,
        main: &Connection,
    ) -> Result<Option<Key>, CallError> {
        // A stateless server hears with every request what its client can do.
        let abilities = if main.is_stateless() { Abilities::default() } else { abilities };
        if self.session_scoped {
            return match owner {
                Owner::Request(_) => Err(self.refused(
                    "it keeps a connection for each client (`scope: session`), and you are not known: open a session or \
                     authenticate"
                        .to_owned(),
                )),
                owner => Ok(Some(Key { owner: Some(owner.clone()), abilities })),
            };
        }
        if main.is_stateless() || abilities.shared() == main.declared() {
            return Ok(None);
        }
        Ok(Some(Key { owner: None, abilities: abilities.shared() }))
    }

    async fn side_connection(
        &self,
        call: &Call,
        key: &Key,
        main: &Connection,
        patience: Patience,
    ) -> Result<Arc<Connection>, CallError> {
        let peer = call.peer.as_deref();
        let between_calls = peer.filter(|_| key.owner.is_some()).and_then(Peer::between_calls);
        let client = Client { gone: peer.and_then(Peer::gone), between_calls };
        tokio::select! {
            biased;
            opened = self.sides.get(key, &client, main.signals()) => opened.map_err(|unopened| self.unopened(unopened)),
            () = call.cancel.cancelled() => Err(CallError::Cancelled),
            () = self.stop.cancelled() => Err(self.down("the proxy is shutting down")),
            () = tokio::time::sleep(patience.left()) => Err(self.down("it is still starting")),
        }
    }

    /// A server that is refused for its failures comes back the sooner for having been asked for.
    fn wake(&self) {
        if self.live(None).is_none() {
            self.reconnect_now.notify_one();
        }
    }

    /// The live connection. While there is none, asks for one and waits for the next attempt to succeed or fail.
    pub(crate) async fn connection(
        &self,
        cancel: &CancellationToken,
        patience: Patience,
        stale: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = self.live(stale) {
            return Ok(connection);
        }
        let mut state = self.state.clone();
        let failures = state.borrow_and_update().failures;
        self.reconnect_now.notify_one();
        let wait = async {
            loop {
                if let Some(connection) = self.live(stale) {
                    return Ok(connection);
                }
                if state.borrow().failures > failures || state.changed().await.is_err() {
                    return Err(self.down(&state.borrow().error));
                }
            }
        };
        tokio::select! {
            outcome = wait => outcome,
            () = cancel.cancelled() => Err(CallError::Cancelled),
            () = self.stop.cancelled() => Err(self.down("the proxy is shutting down")),
            () = tokio::time::sleep(patience.left()) => Err(self.down("it is still starting")),
        }
    }

    fn live(&self, stale: Option<&Arc<Connection>>) -> Option<Arc<Connection>> {
        let connection = self.state.borrow().connection.clone()?;
        stale.is_none_or(|stale| !Arc::ptr_eq(stale, &connection)).then_some(connection)
    }

    pub(crate) fn unopened(&self, unopened: Unopened) -> CallError {
        match unopened {
            Unopened::Full(reason) => self.refused(reason),
            Unopened::Failed(reason) => self.down(&reason),
        }
    }

    /// Nothing is wrong with the server, but this call is not for it.
    fn refused(&self, reason: String) -> CallError {
        CallError::Refused { backend: Arc::clone(&self.name), reason }
    }

    pub(crate) fn down(&self, reason: &str) -> CallError {
        let reason = if reason.is_empty() { "it is not connected" } else { reason };
        CallError::Down { backend: Arc::clone(&self.name), reason: reason.to_owned() }
    }
}

impl Backend for Handle {
    fn view(&self) -> Arc<BackendView> {
        self.view.load_full()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(self.carry_through(call))
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        follower: &'a Follower,
        listener: Listener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>> {
        Box::pin(resubscribe::subscribe(self, uri, follower, listener))
    }

    fn cache_hint(&self, kind: ItemKind) -> CacheHint {
        freshness::cache_hint(self, kind)
    }

    fn refresh(&self, kind: ItemKind) -> BoxFuture<'_, ()> {
        Box::pin(freshness::refresh(self, kind))
    }

    fn notify(&self, method: String, params: Option<Raw>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The connection that is watched is no client's own where each has one.
            let Some(connection) = self.live(None).filter(|_| !self.session_scoped) else { return };
            if let Err(error) = connection.tell(&method, params.as_deref()).await {
                tracing::debug!(server = %self.name, method, %error, "a notification was not delivered");
            }
        })
    }

    fn roots_changed<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(self.sides.roots_changed(owner))
    }
}
