//! Sends messages to a client, after reserving room in the outbound budget.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::connection::OutboundConnection;
use super::level::Level;

/// The first bytes in each connection's queue do not count toward the shared budget. Short messages therefore still reach
/// their clients when another client has filled it.
const UNSHARED_BYTES: usize = 16 << 10;

/// No room became free in time, or too many messages are already waiting for room.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Sends one person's messages to one connection. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Outlet {
    connection: Arc<OutboundConnection>,
    person: Arc<Level>,
    patience: Option<Duration>,
}

impl Outlet {
    pub(super) fn new(connection: Arc<OutboundConnection>, person: Arc<Level>, patience: Duration) -> Self {
        Outlet { connection, person, patience: Some(patience) }
    }

    /// The address at the other end; `None` for a pipe.
    pub fn peer(&self) -> Option<IpAddr> {
        self.connection.peer()
    }

    /// Messages wait for room as long as it takes: for the client on standard output, which started this process.
    pub fn patient(self) -> Self {
        Outlet { patience: None, ..self }
    }

    /// Reserves the bytes of a message if there is room now.
    pub fn try_reserve(&self, bytes: usize) -> Option<Reservation> {
        let (connection, all) = (&self.connection.level, &self.connection.shared.all);
        let _admission = self.connection.shared.admission.lock();
        if connection.is_full() {
            return None;
        }
        let shared = connection.used() + bytes > UNSHARED_BYTES;
        if shared {
            if self.person.is_full() || all.is_full() {
                return None;
            }
            self.person.add(bytes);
            all.add(bytes);
        }
        connection.add(bytes);
        Some(Reservation { outlet: self.clone(), bytes, shared })
    }

    /// Reserves the bytes of a message, and waits while there is no room.
    pub async fn reserve(&self, bytes: usize) -> Result<Reservation, NoRoom> {
        if let Some(reservation) = self.try_reserve(bytes) {
            return Ok(reservation);
        }
        // What waits for room is in memory too, so it is limited as well. The only client of the process may wait.
        let _waiting = match self.patience {
            Some(_) => Some(Waiting::begin(self, bytes).ok_or(NoRoom)?),
            None => None,
        };
        self.wait(|| self.try_reserve(bytes)).await
    }

    /// Completes when there is room for another message. Ready at once if there is room now.
    pub async fn room(&self) -> Result<(), NoRoom> {
        self.wait(|| self.has_room().then_some(())).await
    }

    pub fn has_room(&self) -> bool {
        let (connection, all) = (&self.connection.level, &self.connection.shared.all);
        let shared_room = || !self.person.is_full() && !all.is_full();
        !connection.is_full() && (connection.used() < UNSHARED_BYTES || shared_room())
    }

    async fn wait<T>(&self, attempt: impl Fn() -> Option<T>) -> Result<T, NoRoom> {
        let waiting = async {
            loop {
                let mut freed = [&self.connection.level, &self.person, &self.connection.shared.all]
                    .map(|level| Box::pin(level.freed.notified()));
                // Registers before the attempt, so that room that becomes free in between is not missed.
                for notified in &mut freed {
                    notified.as_mut().enable();
                }
                if let Some(value) = attempt() {
                    return value;
                }
                futures::future::select_all(freed).await;
            }
        };
        match self.patience {
            None => Ok(waiting.await),
            Some(patience) => tokio::time::timeout(patience, waiting).await.map_err(|_| NoRoom),
        }
    }
}

/// The bytes of a message that waits to be written. Dropping it makes room for others.
#[derive(Debug)]
pub struct Reservation {
    outlet: Outlet,
    bytes: usize,
    /// Whether the bytes also count toward the person's limit and the total.
    shared: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let connection = &self.outlet.connection;
        connection.taken();
        connection.level.subtract(self.bytes);
        // Even if the connection was not full: the remaining bytes may now fit into its unshared part.
        connection.level.freed.notify_waiters();
        if self.shared {
            self.outlet.person.subtract(self.bytes);
            connection.shared.all.subtract(self.bytes);
        }
    }
}

/// A message that waits for room.
struct Waiting<'a>(&'a Outlet, usize);

impl<'a> Waiting<'a> {
    /// Returns `None` if as much waits for room as may wait to be written.
    fn begin(outlet: &'a Outlet, bytes: usize) -> Option<Self> {
        let levels = [&outlet.person, &outlet.connection.shared.all];
        let _admission = outlet.connection.shared.admission.lock();
        if !levels.iter().all(|level| level.can_wait()) {
            return None;
        }
        levels.iter().for_each(|level| level.begin_wait(bytes));
        Some(Waiting(outlet, bytes))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.person.end_wait(self.1);
        self.0.connection.shared.all.end_wait(self.1);
    }
}
