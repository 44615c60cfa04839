//! Which process holds a client's own connection to a server. A holder lives as long as its process gives signs of life.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::millis;
use super::replicas::ReplicaStore;
use crate::driver::Outcome;
use proxy_model::{Home, Owner, SessionDigest};

/// How often a claim is tried again because the holder has changed meanwhile.
const MAX_CHANGES: usize = 3;

/// The field of the claim of a connection.
const HOLDER: &str = "holder ";
/// The field of what is kept of a session at a server.
const SESSION: &str = "session ";

/// The client that has a connection of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionOwner {
    Session(SessionDigest),
    /// A person without a session.
    Person(Owner),
}

/// The right of this process to hold a connection. Each one is another: a late release must not release what was claimed
/// afterwards.
#[derive(Clone, Debug)]
pub struct ConnectionClaim {
    owner: ConnectionOwner,
    connection: String,
    text: String,
}

impl ConnectionClaim {
    pub fn owner(&self) -> &ConnectionOwner {
        &self.owner
    }
}

/// What became of a claim.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// This process is the holder. The last one has left `session`.
    Held { claim: ConnectionClaim, session: Option<Vec<u8>> },
    /// Another process is the holder, and it lives.
    HeldBy(Home),
}

/// What the store knows of a connection.
#[derive(Clone, Debug, Default)]
pub struct KnownConnection {
    pub connection: String,
    pub holder: Option<Home>,
    pub session: Option<Vec<u8>>,
}

fn home_of(claim: &str) -> Option<Home> {
    Home::parse(claim.split_once('.')?.0)
}

impl ReplicaStore {
    fn connections_key(&self, owner: &ConnectionOwner) -> String {
        match owner {
            ConnectionOwner::Session(session) => self.keys().connections_of_session(*session),
            ConnectionOwner::Person(person) => self.keys().connections_of(person),
        }
    }

    /// Makes this process the holder of a connection, unless another one that lives is.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn claim_connection(
        &self,
        owner: &ConnectionOwner,
        connection: &str,
        ttl: Duration,
    ) -> Outcome<ClaimOutcome> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let home = format!("{}.", Home::of_this_process());
        let text = format!("{home}{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let key = [self.connections_key(owner)];
        let ttl = millis(ttl).max(1).to_string();
        let mut gone = String::new();
        let mut changes = 0;
        loop {
            let arguments = [connection, &text, &home, &gone, &ttl].map(str::as_bytes);
            let (holder, session): (Option<String>, Option<Vec<u8>>) =
                self.script(&self.scripts().hold, &key, &arguments).await?;
            let Some(holder) = holder else {
                let claim = ConnectionClaim { owner: owner.clone(), connection: connection.to_owned(), text };
                return Ok(ClaimOutcome::Held { claim, session });
            };
            let lives = match home_of(&holder) {
                Some(other) if changes == MAX_CHANGES || self.lives(other).await? => Some(other),
                _ => None,
            };
            if let Some(other) = lives {
                return Ok(ClaimOutcome::HeldBy(other));
            }
            // The sign of life has another tag than the connection, so a Redis Cluster has no script for both. Only the claim
            // that was seen is replaced: of several processes that take over, one does.
            gone = holder;
            changes += 1;
        }
    }

    async fn held(&self, claim: &ConnectionClaim, action: &str, ttl: Duration, kept: &[u8]) -> Outcome<bool> {
        let ttl = millis(ttl).max(1).to_string();
        let key = [self.connections_key(&claim.owner)];
        let arguments = [claim.connection.as_bytes(), claim.text.as_bytes(), action.as_bytes(), ttl.as_bytes(), kept];
        let counts: u8 = self.script(&self.scripts().held, &key, &arguments).await?;
        Ok(counts == 1)
    }

    /// Whether a claim still counts. Its entry is kept for this time from now on.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn renew_claim(&self, claim: &ConnectionClaim, ttl: Duration) -> Outcome<bool> {
        self.held(claim, "renew", ttl, b"").await
    }

    /// Leaves the next holder what it takes to go on with the session at the server.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn keep_server_session(&self, claim: &ConnectionClaim, session: &[u8], ttl: Duration) -> Outcome<bool> {
        self.held(claim, "keep", ttl, session).await
    }

    /// Gives a connection up. The next holder goes on with the session at the server.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn release_claim(&self, claim: &ConnectionClaim) -> Outcome<bool> {
        self.held(claim, "release", Duration::ZERO, b"").await
    }

    /// Gives a connection up whose session at the server ends.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn end_claim(&self, claim: &ConnectionClaim) -> Outcome<bool> {
        self.held(claim, "end", Duration::ZERO, b"").await
    }

    /// The connections of a client that a process holds or has held.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn connections(&self, owner: &ConnectionOwner) -> Outcome<Vec<KnownConnection>> {
        let mut command = redis::cmd("HGETALL");
        command.arg(self.connections_key(owner));
        let fields: Vec<(String, Vec<u8>)> = self.command(&command).await?;
        let mut connections = BTreeMap::<String, KnownConnection>::new();
        for (field, value) in fields {
            if let Some(name) = field.strip_prefix(HOLDER) {
                connections.entry(name.to_owned()).or_default().holder = home_of(&String::from_utf8_lossy(&value));
            } else if let Some(name) = field.strip_prefix(SESSION) {
                connections.entry(name.to_owned()).or_default().session = Some(value);
            }
        }
        let named = connections.into_iter().map(|(connection, known)| KnownConnection { connection, ..known });
        Ok(named.collect())
    }
}
