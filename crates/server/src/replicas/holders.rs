//! Who holds the connections that belong to one client (`scope: session`), as the store knows it.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::wishes::{Wish, Wishes};
use super::{HomeNote, Replicas};
use proxy_base::seal::{Purpose, Sealer};
use proxy_mcp_client::{ConnectionHolders, HeldConnection, NotHeld, OwnConnection, ServerSession};
use proxy_model::{Home, Owner, SessionDigest};
use proxy_store::{ClaimOutcome, ConnectionClaim, ConnectionOwner, Outcome, ReplicaStore};

/// How long the connections of people without a session are known at least.
const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// How often a holder asks whether it still is one. Others take over only after its process gave no sign of life for a while.
const RENEW_INTERVAL: Duration = Duration::from_secs(30);
/// The maximum number of claims that wait for the store to be given up.
const MAX_WAITING: usize = 10_000;

/// The connections that this process holds.
pub(crate) struct Holders {
    replicas: Weak<Replicas>,
    shared: Arc<Shared>,
    leaving: CancellationToken,
}

/// What all held connections need.
struct Shared {
    sealer: Sealer,
    lifetime: Duration,
    /// The claims that could not be given up because the store was away.
    waiting: Mutex<Vec<GivenUp>>,
    wishes: Wishes,
}

struct GivenUp {
    store: ReplicaStore,
    claim: ConnectionClaim,
    end: ClaimEnd,
}

#[derive(Clone, Copy)]
enum ClaimEnd {
    /// The next holder goes on with the session at the server.
    Release,
    /// The session at the server ends.
    End,
}

struct Held {
    store: ReplicaStore,
    shared: Arc<Shared>,
    claim: ConnectionClaim,
    wish: Wish,
    /// The sessions at servers are sealed for their client.
    seal: String,
    earlier: Option<ServerSession>,
}

impl fmt::Debug for Holders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Holders")
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Held")
    }
}

/// Whose key opens what is kept of the sessions at servers.
fn seal_of(owner: &ConnectionOwner) -> String {
    match owner {
        ConnectionOwner::Session(session) => format!("session {session}"),
        ConnectionOwner::Person(person) => person.text(""),
    }
}

impl Holders {
    pub(super) fn new(replicas: Weak<Replicas>, sealer: Sealer, lifetime: Duration) -> Self {
        let shared = Arc::new(Shared { sealer, lifetime, waiting: Mutex::default(), wishes: Wishes::default() });
        Holders { replicas, shared, leaving: CancellationToken::new() }
    }

    /// From now on this process accepts no requests, and gives up its connections as soon as they are not in use.
    pub(crate) fn leave(&self) {
        self.leaving.cancel();
    }

    /// The client of a connection, if another process can know it.
    fn owner(&self, owner: &Owner) -> Option<ConnectionOwner> {
        match owner {
            // Without a lifetime no session comes back anywhere.
            Owner::Session(_) if self.shared.lifetime.is_zero() => None,
            Owner::Session(sid) if sid.is_connection_here() => None,
            Owner::Session(sid) => Some(ConnectionOwner::Session(sid.digest())),
            Owner::Person(_) => Some(ConnectionOwner::Person(owner.clone())),
            Owner::Everybody | Owner::Process | Owner::Request(_) | Owner::UnderProfile(..) => None,
        }
    }

    /// Lets the holder of a connection know that its client is here. It gives up what the client no longer uses there.
    fn want(&self, holder: Home, connection: String) {
        if !self.shared.wishes.may_send(&connection) {
            return;
        }
        let Some(replicas) = self.replicas.upgrade() else { return };
        tokio::spawn(async move {
            // Otherwise the connection stays where it is for longer.
            let _ = replicas.send(holder, &HomeNote::Wanted { connection }).await;
        });
    }

    /// Another process wants to hold a connection.
    pub(super) fn wanted(&self, connection: &str) {
        self.shared.wishes.make(connection);
    }

    /// Gives up what could not be given up before.
    pub(super) async fn give_up_waiting(&self) {
        let waiting = std::mem::take(&mut *self.shared.waiting.lock());
        for given_up in waiting {
            self.shared.give_up(given_up).await;
        }
    }

    /// Takes over the sessions at servers that nobody holds, because the session of their client has ended.
    pub(super) async fn left_by(&self, store: &ReplicaStore, session: SessionDigest) -> Outcome<Vec<ServerSession>> {
        let owner = ConnectionOwner::Session(session);
        let mut left = Vec::new();
        for known in store.connections(&owner).await? {
            // Whoever holds it is told of the end.
            let is_held_here = known.holder == Some(Home::of_this_process());
            if known.session.is_none() || is_held_here {
                continue;
            }
            let claimed = store.claim_connection(&owner, &known.connection, self.shared.ttl(&owner)).await?;
            let ClaimOutcome::Held { claim, session } = claimed else { continue };
            left.extend(session.and_then(|sealed| self.shared.open(&seal_of(&owner), &sealed)));
            store.end_claim(&claim).await?;
        }
        Ok(left)
    }
}

impl Shared {
    fn ttl(&self, owner: &ConnectionOwner) -> Duration {
        match owner {
            ConnectionOwner::Session(_) => self.lifetime,
            ConnectionOwner::Person(_) => self.lifetime.max(KNOWN_FOR),
        }
    }

    fn open(&self, seal: &str, sealed: &[u8]) -> Option<ServerSession> {
        let content = self.sealer.open_bytes(Purpose::ServerSession, seal, sealed)?;
        serde_json::from_slice(&content).ok()
    }

    async fn give_up(&self, given_up: GivenUp) {
        let GivenUp { store, claim, end } = &given_up;
        let done = match end {
            ClaimEnd::Release => store.release_claim(claim).await,
            ClaimEnd::End => store.end_claim(claim).await,
        };
        if let Err(error) = done {
            tracing::debug!("cannot give up a connection of a client, and will try again: {error}");
            let mut waiting = self.waiting.lock();
            if waiting.len() < MAX_WAITING {
                waiting.push(given_up);
            }
        }
    }
}

impl ConnectionHolders for Holders {
    fn hold(&self, connection: OwnConnection) -> BoxFuture<'_, Result<Option<Arc<dyn HeldConnection>>, NotHeld>> {
        async move {
            let Some(store) = self.replicas.upgrade().and_then(|replicas| replicas.store()) else { return Ok(None) };
            let Some(owner) = self.owner(&connection.owner) else { return Ok(None) };
            let claimed = store.claim_connection(&owner, &connection.name, self.shared.ttl(&owner)).await;
            let claimed = claimed.map_err(|error| {
                tracing::warn!("cannot open a connection for one client (`scope: session`): {error}");
                NotHeld("the store that says which proxy has the client's connection is away; try again".to_owned())
            })?;
            let seal = seal_of(&owner);
            let name = format!("{seal}\n{}", connection.name);
            let (claim, session) = match claimed {
                ClaimOutcome::Held { claim, session } => (claim, session),
                ClaimOutcome::HeldBy(other) => {
                    self.want(other, name);
                    return Err(NotHeld(held_elsewhere(&owner, other)));
                }
            };
            let wish = self.shared.wishes.of(name);
            let earlier = session.and_then(|sealed| self.shared.open(&seal, &sealed));
            let held = Held { store, shared: Arc::clone(&self.shared), claim, wish, seal, earlier };
            Ok(Some(Arc::new(held) as Arc<dyn HeldConnection>))
        }
        .boxed()
    }

    fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }
}

/// What a client is told whose connection another process has.
fn held_elsewhere(owner: &ConnectionOwner, other: Home) -> String {
    match owner {
        ConnectionOwner::Session(_) => format!(
            "proxy {other} has the connection of this session (`scope: session`). Let the load balancer hash by the \
             `Mcp-Session-Id` header, so that all requests of a session reach one proxy"
        ),
        ConnectionOwner::Person(_) => format!(
            "proxy {other} has the connection of this user (`scope: session`). Use a client with sessions, and let the \
             load balancer hash by the `Mcp-Session-Id` header; or hash by user"
        ),
    }
}

impl HeldConnection for Held {
    fn earlier(&self) -> Option<&ServerSession> {
        self.earlier.as_ref()
    }

    fn keep<'a>(&'a self, session: &'a ServerSession) -> BoxFuture<'a, ()> {
        async move {
            let Ok(content) = serde_json::to_vec(session) else { return };
            let Ok(sealed) = self.shared.sealer.seal_bytes(Purpose::ServerSession, &self.seal, &content) else {
                return;
            };
            let ttl = self.shared.ttl(self.claim.owner());
            if let Err(error) = self.store.keep_server_session(&self.claim, &sealed, ttl).await {
                tracing::debug!(server = %session.server, "no other proxy can go on with a session: {error}");
            }
        }
        .boxed()
    }

    fn lost(&self) -> BoxFuture<'_, ()> {
        async move {
            loop {
                tokio::time::sleep(RENEW_INTERVAL).await;
                let renewed = self.store.renew_claim(&self.claim, self.shared.ttl(self.claim.owner())).await;
                if matches!(renewed, Ok(false)) {
                    tracing::info!("another proxy has taken over the connection of a client");
                    return;
                }
            }
        }
        .boxed()
    }

    fn wanted(&self) -> BoxFuture<'_, ()> {
        self.wish.made().boxed()
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        self.give_up(ClaimEnd::Release)
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        self.give_up(ClaimEnd::End)
    }
}

impl Held {
    fn give_up(&self, end: ClaimEnd) -> BoxFuture<'_, ()> {
        let given_up = GivenUp { store: self.store.clone(), claim: self.claim.clone(), end };
        self.shared.give_up(given_up).boxed()
    }
}
