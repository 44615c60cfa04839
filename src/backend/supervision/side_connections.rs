//! Connections beside the supervised one. What a session-based server believes of its clients is fixed when a connection
//! begins, so clients that can be asked different things do not share one; and a server with `scope: session` has one
//! for each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::resubscribe;
use super::resubscribe::Keeper;
use crate::backend::call::peer::Peer;
use crate::backend::connection::connector::{Connector, Purpose};
use crate::backend::connection::established::Connection;
use crate::backend::connection::handshake::{Declared, Memory};
use crate::backend::transport::signals::Signals;
use crate::backend::transport::subscriptions::Subscriptions;
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

pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

/// Who may use a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Nobody else, if it is one client's own.
    pub(crate) owner: Option<Owner>,
    pub(crate) abilities: Abilities,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// There are enough; nothing is wrong with the server.
    Full(String),
    Failed(String),
}

type Opened = Option<Result<Arc<Connection>, String>>;

#[derive(Debug)]
struct Side {
    /// The connection, or why there is none, once either is known.
    opened: watch::Receiver<Opened>,
    used: Mutex<Instant>,
}

impl Side {
    fn connection(&self) -> Option<Arc<Connection>> {
        self.opened.borrow().as_ref().and_then(|opened| opened.as_ref().ok().cloned())
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn idle(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn is_busy(&self) -> bool {
        self.opened.borrow().is_none() || self.connection().is_some_and(|connection| connection.is_busy())
    }
}

/// What a connection was opened for.
struct Kept {
    key: Key,
    client: Client,
    signals: Arc<Signals>,
}

/// For whom a connection is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// Ends when its session has.
    pub(crate) gone: Option<CancellationToken>,
    /// The way to it while no call of it runs.
    pub(crate) between_calls: Option<Arc<dyn Peer>>,
}

#[derive(Debug)]
pub(crate) struct SideConnections {
    pub(crate) connector: Arc<Connector>,
    open: Mutex<HashMap<Key, Arc<Side>>>,
    /// What is followed on them, which outlives the connections themselves.
    followed: Mutex<HashMap<Key, Arc<Subscriptions>>>,
    pub(crate) stop: CancellationToken,
}

impl SideConnections {
    pub(crate) fn new(connector: Arc<Connector>, stop: CancellationToken) -> Self {
        SideConnections { connector, open: Mutex::default(), followed: Mutex::default(), stop }
    }

    /// What is followed on the connection for this key.
    pub(crate) fn followed(&self, key: &Key) -> Arc<Subscriptions> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        // Of no use to any connection, and held by nobody who follows anything.
        followed.retain(|_, unused| Arc::strong_count(unused) > 1);
        Arc::clone(followed.entry(key.clone()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Side>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection for this key, opened if there is none. Whoever no longer waits leaves the opening to the others.
    pub(crate) async fn get(
        self: &Arc<Self>,
        key: &Key,
        client: &Client,
        signals: &Arc<Signals>,
    ) -> Result<Arc<Connection>, Unopened> {
        let side = self.slot(key, client, signals).map_err(Unopened::Full)?;
        side.touch();
        let mut opened = side.opened.clone();
        let opened = opened.wait_for(Option::is_some).await.map(|opened| opened.clone());
        match opened {
            Ok(Some(Ok(connection))) => Ok(connection),
            Ok(Some(Err(reason))) => Err(Unopened::Failed(reason)),
            Ok(None) | Err(_) => Err(Unopened::Failed("the proxy is shutting down".to_owned())),
        }
    }

    fn slot(self: &Arc<Self>, key: &Key, client: &Client, signals: &Arc<Signals>) -> Result<Arc<Side>, String> {
        let mut open = self.lock();
        if let Some(side) = open.get(key) {
            return Ok(Arc::clone(side));
        }
        let most = if key.owner.is_some() { MOST_OWN } else { MOST_SHARED };
        if open.keys().filter(|other| other.owner.is_some() == key.owner.is_some()).count() >= most {
            self.make_room(&mut open, key.owner.is_some())
                .then_some(())
                .ok_or_else(|| format!("it has {most} connections already, and all of them are in use"))?;
        }
        let (sender, opened) = watch::channel(None);
        let side = Arc::new(Side { opened, used: Mutex::new(Instant::now()) });
        open.insert(key.clone(), Arc::clone(&side));
        let kept = Kept { key: key.clone(), client: client.clone(), signals: Arc::clone(signals) };
        tokio::spawn(Arc::clone(self).open_side(kept, Arc::clone(&side), sender));
        Ok(side)
    }

    /// Closes the connection of its sort that was used longest ago, if one is not in use.
    fn make_room(&self, open: &mut HashMap<Key, Arc<Side>>, own: bool) -> bool {
        let idle = open.iter().filter(|(key, side)| key.owner.is_some() == own && !side.is_busy());
        let idle = idle.filter(|(key, _)| self.followed(key).is_empty());
        let Some(oldest) = idle.max_by_key(|(_, side)| side.idle()).map(|(key, _)| key.clone()) else { return false };
        if let Some(connection) = open.remove(&oldest).and_then(|side| side.connection()) {
            tokio::spawn(async move { connection.stop().await });
        }
        true
    }

    /// Opens a connection for all who wait for it. One that could not be opened is forgotten, and they all hear why.
    async fn open_side(self: Arc<Self>, kept: Kept, side: Arc<Side>, told: watch::Sender<Opened>) {
        let mut memory = Memory::default();
        let own = Arc::new(Signals::beside(&kept.signals, &self.followed(&kept.key)));
        let client = kept.client.between_calls.clone().filter(|_| kept.key.owner.is_some());
        let purpose = Purpose { declared: Declared::These(kept.key.abilities), signals: own, client };
        let opened = tokio::select! {
            opened = self.connector.connect(&mut memory, purpose) => opened,
            () = self.stop.cancelled() => Err("the proxy is shutting down".to_owned()),
        };
        match opened {
            Err(reason) => {
                self.forget(&kept.key, &side);
                told.send_replace(Some(Err(reason)));
            }
            Ok(connection) => {
                connection.open_ear().await;
                told.send_replace(Some(Ok(Arc::clone(&connection))));
                self.kept(kept, side, connection).await;
            }
        }
    }

    /// Tells the server that a client's folders have changed, on the connections that are its own. Servers of the stateless
    /// era ask for folders when they need them.
    pub(crate) async fn roots_changed(&self, owner: &Owner) {
        let own: Vec<Arc<Connection>> = self
            .lock()
            .iter()
            .filter(|(key, _)| key.owner.as_ref() == Some(owner) && key.abilities.roots_changes)
            .filter_map(|(_, side)| side.connection())
            .collect();
        for connection in own.iter().filter(|connection| !connection.is_stateless()) {
            if let Err(error) = connection.tell(ROOTS_CHANGED, None).await {
                tracing::debug!(server = %self.connector.name, %error, "a change of folders was not told");
            }
        }
    }

    /// A connection that is of no use any more: the next call opens a new one.
    pub(crate) fn drop_stale(&self, key: &Key, connection: &Arc<Connection>) {
        let side = self.lock().get(key).cloned();
        if let Some(side) = side.filter(|side| side.connection().is_some_and(|open| Arc::ptr_eq(&open, connection))) {
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
            tokio::spawn(resubscribe::keep(Keeper::new(&self.connector.name, server.timeout, &followed, &connection)));
        let client_gone = async {
            match kept.client.gone.clone().filter(|_| key.owner.is_some()) {
                Some(gone) => gone.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let unused = async {
            loop {
                tokio::time::sleep(LOOK).await;
                if side.idle() >= IDLE && followed.is_empty() && !connection.is_busy() {
                    return;
                }
            }
        };
        let lost = tokio::select! {
            reason = connection.closed() => {
                tracing::warn!(server = %self.connector.name, "lost a connection for some of its clients: {reason}");
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
            match self.get(&kept.key, &kept.client, &kept.signals).await {
                Ok(_) => return,
                Err(reason) => tracing::debug!(server = %self.connector.name, ?reason, "no connection to follow on"),
            }
        }
    }

    /// Waits until no connection is left, for the end.
    pub(crate) async fn stopped(&self) {
        let open: Vec<Arc<Side>> = self.lock().drain().map(|(_, side)| side).collect();
        for side in open {
            if let Some(connection) = side.connection() {
                connection.stop().await;
            }
        }
    }
}
