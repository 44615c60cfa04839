//! Connections beside the supervised one. What a session-based server believes of its clients is fixed when a connection
//! begins, so clients that can be asked different things do not share one; and a server with `scope: session` has one
//! for each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::connector::Connector;
use super::handshake::Memory;
use super::signals::Signals;
use super::subscriber::{self, Keeper};
use super::subscriptions::Subscriptions;
use crate::model::{Abilities, Owner};

/// Connections that clients share, by what they can do.
const MOST_SHARED: usize = 8;
/// Connections of one client each.
const MOST_OWN: usize = 1000;
/// One that nobody used for so long is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);
const LOOK: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Who may use a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Nobody else, if it is one client's own.
    pub(super) owner: Option<Owner>,
    pub(super) abilities: Abilities,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Unopened {
    /// There are enough; nothing is wrong with the server.
    Full(String),
    Failed(String),
}

#[derive(Debug)]
struct Side {
    connection: OnceCell<Arc<Connection>>,
    used: Mutex<Instant>,
}

/// What a connection was opened for.
struct Kept {
    key: Key,
    gone: Option<CancellationToken>,
    signals: Arc<Signals>,
}

#[derive(Debug)]
pub(super) struct Sides {
    pub(super) connector: Arc<Connector>,
    open: Mutex<HashMap<Key, Arc<Side>>>,
    /// What is followed on them, which outlives the connections themselves.
    followed: Mutex<HashMap<Key, Arc<Subscriptions>>>,
    pub(super) stop: CancellationToken,
}

impl Sides {
    pub(super) fn new(connector: Arc<Connector>, stop: CancellationToken) -> Self {
        Sides { connector, open: Mutex::default(), followed: Mutex::default(), stop }
    }

    /// What is followed on the connection for this key.
    pub(super) fn followed(&self, key: &Key) -> Arc<Subscriptions> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        // Of no use to any connection, and held by nobody who follows anything.
        followed.retain(|_, unused| Arc::strong_count(unused) > 1);
        Arc::clone(followed.entry(key.clone()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Side>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection for this key, opened if there is none.
    pub(super) async fn get(
        self: &Arc<Self>,
        key: &Key,
        gone: Option<CancellationToken>,
        signals: &Arc<Signals>,
    ) -> Result<Arc<Connection>, Unopened> {
        let side = self.slot(key).map_err(Unopened::Full)?;
        *side.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let opened = side
            .connection
            .get_or_try_init(|| async {
                let mut memory = Memory::default();
                let own = Arc::new(Signals::beside(signals, &self.followed(key)));
                let connection = self.connector.connect(&mut memory, key.abilities, own).await?;
                connection.open_ear().await;
                let kept = Kept { key: key.clone(), gone, signals: Arc::clone(signals) };
                tokio::spawn(Arc::clone(self).kept(kept, Arc::clone(&side), Arc::clone(&connection)));
                Ok::<_, String>(connection)
            })
            .await;
        match opened {
            Ok(connection) => Ok(Arc::clone(connection)),
            Err(reason) => {
                self.forget(key, &side);
                Err(Unopened::Failed(reason))
            }
        }
    }

    fn slot(&self, key: &Key) -> Result<Arc<Side>, String> {
        let mut open = self.lock();
        if let Some(side) = open.get(key) {
            return Ok(Arc::clone(side));
        }
        let most = if key.owner.is_some() { MOST_OWN } else { MOST_SHARED };
        if open.keys().filter(|other| other.owner.is_some() == key.owner.is_some()).count() >= most {
            return Err(format!("it has {most} connections already, and more are not opened"));
        }
        let side = Arc::new(Side { connection: OnceCell::new(), used: Mutex::new(Instant::now()) });
        open.insert(key.clone(), Arc::clone(&side));
        Ok(side)
    }

    /// A connection that is of no use any more: the next call opens a new one.
    pub(super) fn drop_stale(&self, key: &Key, connection: &Arc<Connection>) {
        let side = self.lock().get(key).cloned();
        if let Some(side) = side.filter(|side| side.connection.get().is_some_and(|open| Arc::ptr_eq(open, connection)))
        {
            self.forget(key, &side);
        }
    }

    fn forget(&self, key: &Key, side: &Arc<Side>) {
        let mut open = self.lock();
        if open.get(key).is_some_and(|known| Arc::ptr_eq(known, side)) {
            open.remove(key);
        }
    }

    /// Boxed, because keeping one connection may mean to open the next.
    fn kept(self: Arc<Self>, kept: Kept, side: Arc<Side>, connection: Arc<Connection>) -> BoxFuture<'static, ()> {
        Box::pin(self.keep(kept, side, connection))
    }

    /// Closes a connection when it has ended, when its client is gone, or when nobody uses it.
    async fn keep(self: Arc<Self>, kept: Kept, side: Arc<Side>, connection: Arc<Connection>) {
        let (key, followed) = (&kept.key, self.followed(&kept.key));
        let server = &self.connector.server;
        let subscriber =
            tokio::spawn(subscriber::keep(Keeper::new(&self.connector.name, server.timeout, &followed, &connection)));
        let client_gone = async {
            match kept.gone.clone().filter(|_| key.owner.is_some()) {
                Some(gone) => gone.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let unused = async {
            loop {
                tokio::time::sleep(LOOK).await;
                let idle = side.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                if idle >= IDLE && followed.is_empty() {
                    return;
                }
            }
        };
        let lost = tokio::select! {
            reason = connection.closed() => {
                tracing::debug!(server = %self.connector.name, reason, "a connection ended");
                true
            }
            () = client_gone => false,
            () = unused => false,
            () = self.stop.cancelled() => false,
        };
        self.forget(key, &side);
        subscriber.abort();
        let _ = subscriber.await;
        connection.stop().await;
        if lost {
            self.open_again(&kept, &followed).await;
        }
    }

    /// What is followed on a connection that was lost needs another one; calls open theirs when they come.
    async fn open_again(self: &Arc<Self>, kept: &Kept, followed: &Subscriptions) {
        let mut pause = FIRST_PAUSE;
        while !followed.is_empty() && !self.stop.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.get(&kept.key, kept.gone.clone(), &kept.signals).await {
                Ok(_) => return,
                Err(reason) => tracing::debug!(server = %self.connector.name, ?reason, "no connection to follow on"),
            }
        }
    }

    /// Waits until no connection is left, for the end.
    pub(super) async fn stopped(&self) {
        let open: Vec<Arc<Side>> = self.lock().drain().map(|(_, side)| side).collect();
        for side in open {
            if let Some(connection) = side.connection.get() {
                connection.stop().await;
            }
        }
    }
}
