//! The connections of clients, and what waits on each of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::level::Level;
use super::outlet::Outlet;
use proxy_model::Owner;

/// How many bytes may wait, and how long. A message is admitted while less than the limit waits, so one whole message always can.
#[derive(Clone, Copy, Debug)]
pub struct OutboundLimits {
    pub connection: usize,
    pub person: usize,
    pub all: usize,
    /// How long a message waits for room. Then its stream ends.
    pub patience: Duration,
    /// A connection on which bytes wait and none is taken ends after this, or up to a quarter later.
    pub stall: Duration,
}

impl Default for OutboundLimits {
    fn default() -> Self {
        OutboundLimits {
            connection: 16 << 20,
            person: 64 << 20,
            all: 256 << 20,
            patience: Duration::from_secs(30),
            stall: Duration::from_secs(60),
        }
    }
}

/// The bytes that wait for all clients of this process.
#[derive(Clone, Debug)]
pub struct OutboundBudget(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    limits: OutboundLimits,
    /// Held while a message is admitted: from the checks of all three counts to the additions.
    pub(super) admission: Mutex<()>,
    pub(super) all: Arc<Level>,
    people: Mutex<HashMap<Owner, Weak<Level>>>,
}

impl Default for OutboundBudget {
    fn default() -> Self {
        OutboundBudget::new(OutboundLimits::default())
    }
}

impl OutboundBudget {
    pub fn new(limits: OutboundLimits) -> Self {
        let all = Level::new(limits.all);
        OutboundBudget(Arc::new(Shared { limits, admission: Mutex::default(), all, people: Mutex::default() }))
    }

    /// A new connection.
    pub fn connection(&self) -> Arc<OutboundConnection> {
        Arc::new(OutboundConnection {
            shared: Arc::clone(&self.0),
            level: Level::new(self.0.limits.connection),
            taken: AtomicU64::new(0),
            multiplexed: AtomicBool::new(false),
            peer: OnceLock::new(),
            last_person: Mutex::default(),
        })
    }
}

impl Shared {
    /// What waits for a person on all connections.
    fn level_of(&self, person: &Owner) -> Arc<Level> {
        let mut people = self.people.lock();
        people.get(person).and_then(Weak::upgrade).unwrap_or_else(|| {
            people.retain(|_, level| level.strong_count() > 0);
            let level = Level::new(self.limits.person);
            people.insert(person.clone(), Arc::downgrade(&level));
            level
        })
    }
}

/// The connection of a client.
#[derive(Debug)]
pub struct OutboundConnection {
    pub(super) shared: Arc<Shared>,
    pub(super) level: Arc<Level>,
    /// Grows whenever the client reads something.
    taken: AtomicU64,
    multiplexed: AtomicBool,
    peer: OnceLock<IpAddr>,
    /// The person of the last message. Nearly every connection belongs to one person.
    last_person: Mutex<Option<(Owner, Arc<Level>)>>,
}

impl OutboundConnection {
    /// The address at the other end.
    pub fn set_peer(&self, address: IpAddr) {
        // A connection has one.
        let _ = self.peer.set(address);
    }

    /// The address at the other end; `None` for a pipe.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer.get().copied()
    }

    /// The outlet for a person's messages on this connection. A connection from a reverse proxy may serve several people.
    pub fn outlet(self: &Arc<Self>, person: Owner) -> Outlet {
        let mut last = self.last_person.lock();
        let level = match &*last {
            Some((known, level)) if *known == person => Arc::clone(level),
            _ => {
                let level = self.shared.level_of(&person);
                *last = Some((person, Arc::clone(&level)));
                level
            }
        };
        Outlet::new(Arc::clone(self), level, self.shared.limits.patience)
    }

    /// The client has read some of the waiting bytes.
    pub(crate) fn taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes were written to the socket. If several streams share it, they may belong to another stream than the waiting
    /// ones.
    pub(crate) fn written(&self) {
        if !self.multiplexed.load(Ordering::Relaxed) {
            self.taken();
        }
    }

    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.store(true, Ordering::Relaxed);
    }

    /// How many bytes wait for the client to take them.
    pub(crate) fn waiting(&self) -> usize {
        self.level.used()
    }

    /// Completes when bytes wait and the client has taken none for long. Returns how many wait.
    pub(crate) async fn stalled(&self) -> usize {
        let (mut last, mut quiet) = (self.taken.load(Ordering::Relaxed), 0);
        loop {
            tokio::time::sleep(self.shared.limits.stall / 4).await;
            let (taken, waiting) = (self.taken.load(Ordering::Relaxed), self.waiting());
            // What began to wait within the first quarter has not waited all of it: hence a fifth.
            quiet = if waiting == 0 || taken != last { 0 } else { quiet + 1 };
            if quiet > 4 {
                return waiting;
            }
            last = taken;
        }
    }
}
