//! Other processes that serve the same clients, with the same store and the same keys: what they must know of sessions, and
//! requests that only one of them can answer.

mod holders;
mod note;
mod store_time;
mod waiting;
mod wishes;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;

use proxy_base::seal::{Purpose, Sealer};
use proxy_config::Serve;
use proxy_engine::gateway::Gateway;
use proxy_mcp_client::ConnectionHolders;
use proxy_model::{Home, Owner, Principal, SessionDigest};
use proxy_store::{NoteReader, Outcome, ReplicaStore, SentNote, SessionRecord};

use holders::Holders;
pub(crate) use note::{ForwardedAnswer, ForwardedPrincipal, ForwardedRequest, HomeNote, News};
pub(crate) use store_time::StoreTime;
use waiting::WaitingRequests;

/// How often a process gives a sign of life.
pub(crate) const BEAT_INTERVAL: Duration = Duration::from_secs(5);
/// Whose notes are for everybody.
const EVERYBODY: &str = "everybody";
/// How long links of stateless clients are kept at least.
const LINKS_FOR: Duration = Duration::from_secs(3600);
/// The maximum number of ends that the store does not know yet.
const MAX_UNWRITTEN: usize = 10_000;

/// The processes that share the store and the keys of this one.
pub(crate) struct Replicas {
    gateway: Arc<Gateway>,
    sealer: Sealer,
    /// Whether others have the keys: without them nobody can open a session id, or a note.
    has_shared_keys: bool,
    /// How long an end of a session counts.
    lifetime: Duration,
    time: StoreTime,
    waiting: WaitingRequests,
    /// The ends that could not be written because the store was away.
    unwritten: Mutex<Vec<SessionsEnd>>,
    holders: Arc<Holders>,
    /// Whether this process has told the others that it ends.
    has_left: AtomicBool,
}

/// The end of sessions, for the store and for the others.
#[derive(Clone, Debug)]
pub(crate) enum SessionsEnd {
    Session(SessionDigest),
    AllOf(Owner),
}

/// Why a request could not be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotForwarded {
    /// The process that could answer does not live any more.
    Gone,
    /// The store is away, or the process does not read its notes.
    Unreachable,
}

impl Replicas {
    pub(crate) fn new(gateway: Arc<Gateway>, sealer: Sealer, serve: &Serve) -> Arc<Self> {
        let replicas = Arc::new_cyclic(|replicas| Replicas {
            holders: Arc::new(Holders::new(Weak::clone(replicas), sealer.clone(), serve.session_lifetime)),
            has_left: AtomicBool::new(false),
            gateway,
            sealer,
            has_shared_keys: !serve.state_keys.is_empty(),
            lifetime: serve.session_lifetime,
            time: StoreTime::default(),
            waiting: WaitingRequests::default(),
            unwritten: Mutex::default(),
        });
        if replicas.store().is_some() {
            replicas.time.expect();
        }
        replicas
    }

    /// Whether other processes can open session ids and notes of this one.
    pub(crate) fn has_shared_keys(&self) -> bool {
        self.has_shared_keys
    }

    /// The store that others use, too; `None` if there are no others. A config reload may replace it.
    pub(crate) fn store(&self) -> Option<ReplicaStore> {
        if !self.has_shared_keys {
            return None;
        }
        self.gateway.calls().store.replicas().cloned()
    }

    pub(crate) fn time(&self) -> &StoreTime {
        &self.time
    }

    fn seal(&self, reader: &str, note: &impl serde::Serialize) -> Option<Vec<u8>> {
        let content = serde_json::to_vec(note).ok()?;
        self.sealer.seal_bytes(Purpose::Note, reader, &content).ok()
    }

    fn open<T: serde::de::DeserializeOwned>(&self, reader: &str, note: &[u8]) -> Option<T> {
        let content = self.sealer.open_bytes(Purpose::Note, reader, note)?;
        serde_json::from_slice(&content).ok()
    }

    /// Tells all processes.
    pub(crate) async fn tell(&self, news: &News) {
        let Some(store) = self.store() else { return };
        let Some(note) = self.seal(EVERYBODY, news) else { return };
        if let Err(error) = store.tell(&note).await {
            tracing::warn!("cannot tell the other proxies what became of a session: {error}");
        }
    }

    /// Sends a note to another process.
    pub(crate) async fn send(&self, home: Home, note: &HomeNote) -> Result<(), NotForwarded> {
        let store = self.store().ok_or(NotForwarded::Gone)?;
        let note = self.seal(&home.to_string(), note).ok_or(NotForwarded::Unreachable)?;
        match store.send(home, &note).await {
            Ok(SentNote::Sent) => Ok(()),
            Ok(SentNote::Gone) => Err(NotForwarded::Gone),
            Ok(SentNote::Full) => {
                tracing::warn!("proxy {home} does not read the notes of others");
                Err(NotForwarded::Unreachable)
            }
            Err(error) => {
                tracing::warn!("cannot reach proxy {home}: {error}");
                Err(NotForwarded::Unreachable)
            }
        }
    }

    /// Forwards a request to the process that can answer it, and waits for the answer as long as that process lives.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        home: Home,
        request: ForwardedRequest,
    ) -> Result<ForwardedAnswer, NotForwarded> {
        let mut waiting = self.waiting.begin(self, home);
        let from = Home::of_this_process().to_string();
        let note = HomeNote::Request { number: waiting.number, from, request: Box::new(request) };
        self.send(home, &note).await?;
        waiting.is_sent = true;
        loop {
            match tokio::time::timeout(BEAT_INTERVAL, &mut waiting.answer).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(_)) => return Err(NotForwarded::Gone),
                Err(_) => {}
            }
            let lives = match self.store() {
                Some(store) => store.lives(home).await,
                None => Ok(false),
            };
            if matches!(lives, Ok(false)) {
                return Err(NotForwarded::Gone);
            }
        }
    }

    /// Whether another process lives. False if the store is away.
    pub(crate) async fn lives(&self, home: Home) -> bool {
        match self.store() {
            Some(store) => store.lives(home).await.unwrap_or_default(),
            None => false,
        }
    }

    /// Hands an answer to the request that waits for it.
    pub(crate) fn take_answer(&self, number: u64, answer: ForwardedAnswer) {
        self.waiting.take(number, answer);
    }

    /// Remembers the end of sessions in the store, and tells the others. An end that cannot be written now is written later.
    ///
    /// # Errors
    /// If the store is away. The others are told when it is back.
    pub(crate) async fn end(&self, end: SessionsEnd) -> Outcome<()> {
        // Without a lifetime no session comes back anywhere.
        let Some(store) = self.store() else { return Ok(()) };
        if self.lifetime.is_zero() {
            return Ok(());
        }
        let written = self.write_end(&store, &end).await;
        if let Err(error) = &written {
            tracing::warn!("cannot write the end of a session into the store, and will try again: {error}");
            let mut unwritten = self.unwritten.lock();
            if unwritten.len() < MAX_UNWRITTEN {
                unwritten.push(end);
            }
        }
        written
    }

    async fn write_end(&self, store: &ReplicaStore, end: &SessionsEnd) -> Outcome<()> {
        let news = match end {
            SessionsEnd::Session(session) => {
                store.end_session(*session, self.lifetime).await?;
                News::Ended { session: session.to_string() }
            }
            SessionsEnd::AllOf(person) => {
                let born = store.end_sessions_of(person, self.lifetime).await?;
                News::EndedUntil { person: person.text(""), born }
            }
        };
        match self.seal(EVERYBODY, &news) {
            Some(note) => store.tell(&note).await,
            None => Ok(()),
        }
    }

    /// Gives a sign of life, with what the process says of itself, and writes what could not be written before.
    pub(crate) async fn beat(&self, status: &impl serde::Serialize) {
        if self.has_left.load(Ordering::Relaxed) {
            return;
        }
        let Some(store) = self.store() else { return };
        let home = Home::of_this_process();
        let Some(status) = self.seal(&home.to_string(), status) else { return };
        match store.beat(home, &status).await {
            Ok(time) => self.time.set(time),
            Err(error) => {
                tracing::debug!("no sign of life for the other proxies: {error}");
                return;
            }
        }
        let unwritten = std::mem::take(&mut *self.unwritten.lock());
        for end in unwritten {
            // It is logged, and written later, if the store is away again.
            let _ = self.end(end).await;
        }
        self.holders.give_up_waiting().await;
    }

    /// Agrees with the others from now on who holds a connection that belongs to one client.
    pub(crate) fn share_connections(&self) {
        if self.has_shared_keys {
            self.gateway.share_connections(Arc::clone(&self.holders) as Arc<dyn ConnectionHolders>);
        }
    }

    /// Another process wants to hold a connection that this one holds.
    pub(crate) fn take_wish(&self, connection: &str) {
        self.holders.wanted(connection);
    }

    /// This process no longer accepts requests, so others get the connections of their clients.
    pub(crate) fn begin_leaving(&self) {
        self.holders.leave();
    }

    /// Ends the sessions at servers that the processes of an ended session have left.
    pub(crate) async fn end_left_connections(&self, session: SessionDigest) {
        if !self.gateway.has_own_connections() {
            return;
        }
        let Some(store) = self.store() else { return };
        match self.holders.left_by(&store, session).await {
            Ok(left) => {
                join_all(left.iter().map(|session| self.gateway.end_server_session(session))).await;
            }
            Err(error) => tracing::debug!("a server ends the session of a client later: {error}"),
        }
    }

    /// What the store knows of a session; nothing if there are no others.
    pub(crate) async fn session(&self, session: SessionDigest, principal: &Principal) -> Outcome<SessionRecord> {
        match self.store() {
            Some(store) => store.session(session, &Owner::of_handles(principal)).await,
            None => Ok(SessionRecord::default()),
        }
    }

    /// Lets the others know the log level of a session.
    pub(crate) async fn set_level(&self, session: SessionDigest, level: &str) {
        let Some(store) = self.store() else { return };
        match store.set_level(session, level, self.lifetime).await {
            Ok(()) => self.tell(&News::Changed { session: session.to_string() }).await,
            Err(error) => tracing::warn!("the other proxies do not know the log level of session {session}: {error}"),
        }
    }

    /// Lets the others know that the client of a session follows a resource, or no longer does.
    pub(crate) async fn set_subscription(&self, session: SessionDigest, uri: &str, is_subscribed: bool) {
        let Some(store) = self.store() else { return };
        let written = if is_subscribed {
            store.subscribe(session, uri, self.lifetime).await
        } else {
            store.unsubscribe(session, uri).await
        };
        match written {
            Ok(()) => self.tell(&News::Changed { session: session.to_string() }).await,
            Err(error) => tracing::warn!("the other proxies do not know a subscription of session {session}: {error}"),
        }
    }

    /// Lets the others know that the client of a session listens here. The newest stream counts.
    pub(crate) async fn set_listener(&self, session: SessionDigest) {
        let Some(store) = self.store() else { return };
        match store.set_listener(session, Home::of_this_process(), self.lifetime).await {
            Ok(()) => self.tell(&News::Changed { session: session.to_string() }).await,
            Err(error) => tracing::warn!("the other proxies do not know that session {session} listens here: {error}"),
        }
    }

    /// Keeps what a client says about itself, if it is too large for a session id. False if it cannot be kept.
    pub(crate) async fn keep_client(&self, session: SessionDigest, sealed: &[u8]) -> bool {
        let Some(store) = self.store() else { return false };
        let kept = store.set_client(session, sealed, self.lifetime).await;
        if let Err(error) = &kept {
            tracing::warn!("session {session} ends with this process: {error}");
        }
        kept.is_ok()
    }

    /// Lets the others know links, in the background: a result does not wait for the store.
    pub(crate) fn share_links(&self, owner: Owner, uris: Vec<String>, server: &Arc<str>) {
        if uris.is_empty() {
            return;
        }
        let Some(store) = self.store() else { return };
        let server = Arc::clone(server);
        let lifetime = self.lifetime.max(LINKS_FOR);
        tokio::spawn(async move {
            if let Err(error) = store.put_links(&owner, &uris, &server, lifetime).await {
                tracing::debug!("the other proxies do not know a link: {error}");
            }
        });
    }

    /// The server of a link that a client has received from another process.
    pub(crate) async fn link(&self, owner: &Owner, uri: &str) -> Option<Arc<str>> {
        let found = self.store()?.link(owner, uri).await;
        let found = found.inspect_err(|error| tracing::debug!("cannot look for a link: {error}"));
        found.ok().flatten().map(Arc::from)
    }

    /// The end of this process.
    pub(crate) async fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
        if let Some(store) = self.store()
            && let Err(error) = store.leave(Home::of_this_process()).await
        {
            tracing::debug!("the other proxies will notice the end of this one later: {error}");
        }
    }

    /// What each process says of itself. `None` for one with other keys.
    pub(crate) async fn homes<T: serde::de::DeserializeOwned>(&self) -> Outcome<Vec<(Home, Option<T>)>> {
        let Some(store) = self.store() else { return Ok(Vec::new()) };
        let homes = store.homes().await?;
        Ok(homes.into_iter().map(|(home, status)| (home, self.open(&home.to_string(), &status))).collect())
    }

    /// Waits for notes to this process.
    pub(crate) async fn read_inbox(&self, reader: &mut NoteReader) -> Outcome<Vec<HomeNote>> {
        let home = Home::of_this_process().to_string();
        let notes = reader.next().await?;
        Ok(notes.iter().filter_map(|note| self.open(&home, note)).collect())
    }

    /// Waits for notes to all processes. Those with other keys tell nothing.
    pub(crate) async fn read_news(&self, reader: &mut NoteReader) -> Outcome<Vec<News>> {
        let notes = reader.next().await?;
        Ok(notes.iter().filter_map(|note| self.open(EVERYBODY, note)).collect())
    }
}
