//! What several processes with one store know of each other: which of them live, what became of sessions, and the notes that
//! they send. There are two kinds of streams: the inbox of each process, and `news` for all of them.

use std::sync::Arc;
use std::time::Duration;

use redis::streams::{StreamRangeReply, StreamReadReply};
use redis::{Cmd, FromRedisValue, Script};

use super::connection::{RedisConnection, RetryPolicy, SharedConnection};
use super::keys::Keys;
use super::millis;
use crate::StoreError;
use crate::driver::Outcome;
use proxy_model::{Home, Owner, SessionDigest};

/// How long a process counts as alive after its last sign of life.
const ALIVE_FOR: Duration = Duration::from_secs(15);
/// How long a process stays in the list of processes.
const SEEN_FOR: Duration = Duration::from_secs(60);
/// The maximum number of notes that a process has not read.
const MAX_INBOX: usize = 1000;
/// How long notes stay in an inbox.
const INBOX_FOR: Duration = Duration::from_secs(60);
/// How long news stay.
const NEWS_FOR: Duration = Duration::from_secs(3600);
/// A reader waits so long for notes at once.
const READ_FOR: Duration = Duration::from_secs(5);
/// The maximum number of notes that are read at once.
const READ_AT_ONCE: usize = 100;

/// The maximum number of links of an owner.
const MAX_LINKS: usize = 1000;

/// Notes in a stream have one field.
const FIELD: &str = "n";

/// What several processes with one store know of each other. Cheap to clone.
#[derive(Clone)]
pub struct ReplicaStore(Arc<Inner>);

struct Inner {
    connection: Arc<RedisConnection>,
    keys: Keys,
    scripts: Scripts,
}

pub(super) struct Scripts {
    set_session: Script,
    end_all: Script,
    send: Script,
    beat: Script,
    link: Script,
    pub(super) hold: Script,
    pub(super) held: Script,
    pub(super) put_result: Script,
    pub(super) get_result: Script,
}

/// What the store knows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRecord {
    pub has_ended: bool,
    /// All sessions of the person that were born until then have ended. Milliseconds since 1970, of the store's clock.
    pub epoch: u64,
    /// The log level that the client has set.
    pub level: Option<String>,
    /// What the client says about itself, if that is too large for a session id.
    pub client: Option<Vec<u8>>,
    /// The resources to which the client has subscribed.
    pub subscriptions: Vec<String>,
    /// The process at which the client listens, or has listened last.
    pub listener: Option<Home>,
}

/// What became of a note to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentNote {
    Sent,
    /// The process does not live any more.
    Gone,
    /// The process does not read its notes.
    Full,
}

impl ReplicaStore {
    pub(super) fn new(connection: Arc<RedisConnection>, keys: Keys) -> Self {
        let scripts = Scripts {
            set_session: Script::new(include_str!("set_session.lua")),
            end_all: Script::new(include_str!("end_all.lua")),
            send: Script::new(include_str!("send.lua")),
            beat: Script::new(include_str!("beat.lua")),
            link: Script::new(include_str!("link.lua")),
            hold: Script::new(include_str!("hold.lua")),
            held: Script::new(include_str!("held.lua")),
            put_result: Script::new(include_str!("put_result.lua")),
            get_result: Script::new(include_str!("get_result.lua")),
        };
        ReplicaStore(Arc::new(Inner { connection, keys, scripts }))
    }

    /// Whether another one is a clone of this.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.0.keys
    }

    pub(super) fn scripts(&self) -> &Scripts {
        &self.0.scripts
    }

    pub(super) async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Outcome<T> {
        let run = |mut connection: SharedConnection| async move { command.query_async(&mut connection).await };
        self.0.connection.run(RetryPolicy::Always, run).await
    }

    pub(super) async fn script<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[&[u8]],
    ) -> Outcome<T> {
        let mut invocation = script.prepare_invoke();
        for key in keys {
            invocation.key(key);
        }
        for argument in arguments {
            invocation.arg(*argument);
        }
        let invocation = &invocation;
        let run = |mut connection: SharedConnection| async move { invocation.invoke_async(&mut connection).await };
        self.0.connection.run(RetryPolicy::Always, run).await
    }

    /// What is known of a session of this person.
    pub async fn session(&self, session: SessionDigest, person: &Owner) -> Outcome<SessionRecord> {
        let mut fields = redis::cmd("HMGET");
        fields.arg(self.keys().session(session)).arg("ended").arg("level").arg("client").arg("listener");
        let mut subscriptions = redis::cmd("SMEMBERS");
        subscriptions.arg(self.keys().subscriptions(session));
        let mut epoch = redis::cmd("GET");
        epoch.arg(self.keys().epoch(person));
        type Fields = (Option<u8>, Option<String>, Option<Vec<u8>>, Option<String>);
        // Sent together, over one connection.
        let (fields, epoch, subscriptions): (Outcome<Fields>, Outcome<Option<u64>>, Outcome<Vec<String>>) =
            futures::future::join3(self.command(&fields), self.command(&epoch), self.command(&subscriptions)).await;
        let (ended, level, client, listener) = fields?;
        Ok(SessionRecord {
            has_ended: ended.is_some(),
            epoch: epoch?.unwrap_or_default(),
            level,
            client,
            subscriptions: subscriptions?,
            listener: listener.and_then(|home| Home::parse(&home)),
        })
    }

    async fn set_session(&self, session: SessionDigest, field: &str, value: &[u8], ttl: Duration) -> Outcome<()> {
        let ttl = millis(ttl).max(1).to_string();
        let arguments = [field.as_bytes(), value, ttl.as_bytes()];
        self.script(&self.0.scripts.set_session, &[self.keys().session(session)], &arguments).await
    }

    /// Remembers that a session has ended, for as long as its id could be opened.
    pub async fn end_session(&self, session: SessionDigest, ttl: Duration) -> Outcome<()> {
        self.set_session(session, "ended", b"1", ttl).await
    }

    /// Ends all sessions of a person that were born until now. Returns the time of the store's clock.
    pub async fn end_sessions_of(&self, person: &Owner, ttl: Duration) -> Outcome<u64> {
        let ttl = millis(ttl).max(1).to_string();
        self.script(&self.0.scripts.end_all, &[self.keys().epoch(person)], &[ttl.as_bytes()]).await
    }

    /// Remembers the log level of a session.
    pub async fn set_level(&self, session: SessionDigest, level: &str, ttl: Duration) -> Outcome<()> {
        self.set_session(session, "level", level.as_bytes(), ttl).await
    }

    /// Remembers at which process the client of a session listens.
    pub async fn set_listener(&self, session: SessionDigest, home: Home, ttl: Duration) -> Outcome<()> {
        self.set_session(session, "listener", home.to_string().as_bytes(), ttl).await
    }

    /// Remembers that the client of a session has subscribed to a resource.
    pub async fn subscribe(&self, session: SessionDigest, uri: &str, ttl: Duration) -> Outcome<()> {
        let key = self.keys().subscriptions(session);
        self.command::<()>(redis::cmd("SADD").arg(&key).arg(uri)).await?;
        self.command(redis::cmd("PEXPIRE").arg(&key).arg(millis(ttl).max(1))).await
    }

    /// Forgets that the client of a session has subscribed to a resource.
    pub async fn unsubscribe(&self, session: SessionDigest, uri: &str) -> Outcome<()> {
        self.command(redis::cmd("SREM").arg(self.keys().subscriptions(session)).arg(uri)).await
    }

    /// Remembers what the client of a session says about itself.
    pub async fn set_client(&self, session: SessionDigest, client: &[u8], ttl: Duration) -> Outcome<()> {
        self.set_session(session, "client", client, ttl).await
    }

    /// Remembers which server sent links.
    pub async fn put_links(&self, owner: &Owner, uris: &[String], server: &str, ttl: Duration) -> Outcome<()> {
        let limit = MAX_LINKS.to_string();
        let ttl = millis(ttl).max(1).to_string();
        let mut arguments: Vec<&[u8]> = vec![limit.as_bytes(), ttl.as_bytes(), server.as_bytes()];
        arguments.extend(uris.iter().map(String::as_bytes));
        self.script(&self.0.scripts.link, &[self.keys().links(owner)], &arguments).await
    }

    /// The server that sent a link.
    pub async fn link(&self, owner: &Owner, uri: &str) -> Outcome<Option<String>> {
        let mut command = redis::cmd("HGET");
        command.arg(self.keys().links(owner)).arg(uri);
        self.command(&command).await
    }

    /// A sign of life, with what the process says of itself. Returns the time of the store's clock, in milliseconds since 1970.
    pub async fn beat(&self, home: Home, status: &[u8]) -> Outcome<u64> {
        let mut alive = redis::cmd("SET");
        alive.arg(self.keys().alive(home)).arg(1).arg("PX").arg(millis(ALIVE_FOR));
        self.command::<()>(&alive).await?;
        let home = home.to_string();
        let seen_for = millis(SEEN_FOR).to_string();
        let arguments = [home.as_bytes(), status, seen_for.as_bytes()];
        self.script(&self.0.scripts.beat, &self.keys().homes(), &arguments).await
    }

    /// The end of a process.
    pub async fn leave(&self, home: Home) -> Outcome<()> {
        let mut gone = redis::cmd("DEL");
        gone.arg(self.keys().alive(home)).arg(self.keys().inbox(home));
        self.command::<()>(&gone).await?;
        let [seen, status] = self.keys().homes();
        let home = home.to_string();
        self.command::<()>(redis::cmd("ZREM").arg(seen).arg(&home)).await?;
        self.command(redis::cmd("HDEL").arg(status).arg(&home)).await
    }

    /// What each process that was seen lately says of itself.
    pub async fn homes(&self) -> Outcome<Vec<(Home, Vec<u8>)>> {
        let [_, status] = self.keys().homes();
        let all: Vec<(String, Vec<u8>)> = self.command(redis::cmd("HGETALL").arg(status)).await?;
        Ok(all.into_iter().filter_map(|(home, status)| Some((Home::parse(&home)?, status))).collect())
    }

    /// Whether a process lives.
    pub async fn lives(&self, home: Home) -> Outcome<bool> {
        self.command(redis::cmd("EXISTS").arg(self.keys().alive(home))).await
    }

    /// Sends a note to one process.
    pub async fn send(&self, home: Home, note: &[u8]) -> Outcome<SentNote> {
        let limit = MAX_INBOX.to_string();
        let ttl = millis(INBOX_FOR).to_string();
        let keys = [self.keys().alive(home), self.keys().inbox(home)];
        let arguments = [note, limit.as_bytes(), ttl.as_bytes()];
        let sent: i64 = self.script(&self.0.scripts.send, &keys, &arguments).await?;
        Ok(match sent {
            0 => SentNote::Gone,
            1 => SentNote::Sent,
            _ => SentNote::Full,
        })
    }

    /// Sends a note to all processes.
    pub async fn tell(&self, note: &[u8]) -> Outcome<()> {
        let now: (u64, u64) = self.command(&redis::cmd("TIME")).await?;
        let oldest = (now.0 * 1000).saturating_sub(millis(NEWS_FOR));
        let mut add = redis::cmd("XADD");
        add.arg(self.keys().news()).arg("MINID").arg("~").arg(oldest).arg("*").arg(FIELD).arg(note);
        self.command(&add).await
    }

    /// Reads the notes to one process.
    pub fn inbox(&self, home: Home) -> NoteReader {
        // The inbox of this process is empty when it begins to read.
        let key = self.keys().inbox(home);
        NoteReader { store: self.clone(), key, connection: None, last: Some("0-0".to_owned()), is_inbox: true }
    }

    /// Reads the notes to all processes, from now on.
    pub fn news(&self) -> NoteReader {
        let key = self.keys().news();
        NoteReader { store: self.clone(), key, connection: None, last: None, is_inbox: false }
    }
}

/// Reads a stream of notes, on a connection of its own.
pub struct NoteReader {
    store: ReplicaStore,
    key: String,
    connection: Option<SharedConnection>,
    /// The id of the note that was read last; `None` before the first one.
    last: Option<String>,
    is_inbox: bool,
}

impl NoteReader {
    /// The next notes; none if there were none for a while. After an error the next call connects anew and goes on from where
    /// this one stopped.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn next(&mut self) -> Outcome<Vec<Vec<u8>>> {
        let read = self.read().await;
        if read.is_err() {
            self.connection = None;
        }
        read
    }

    /// Begins where the stream ends now, unless this was done before. Returns whether it was done now.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn begin(&mut self) -> Outcome<bool> {
        if self.last.is_some() {
            return Ok(false);
        }
        let mut command = redis::cmd("XREVRANGE");
        command.arg(&self.key).arg("+").arg("-").arg("COUNT").arg(1);
        let newest: StreamRangeReply = self.store.command(&command).await?;
        self.last = Some(newest.ids.into_iter().next().map_or_else(|| "0-0".to_owned(), |note| note.id));
        Ok(true)
    }

    async fn read(&mut self) -> Outcome<Vec<Vec<u8>>> {
        self.begin().await?;
        let last = self.last.clone().unwrap_or_default();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.store.0.connection.waiting().await?,
        };
        let mut command = redis::cmd("XREAD");
        command.arg("COUNT").arg(READ_AT_ONCE).arg("BLOCK").arg(millis(READ_FOR));
        command.arg("STREAMS").arg(&self.key).arg(&last);
        // A connection that is half open delivers nothing and no error.
        let reading = tokio::time::timeout(READ_FOR * 2, command.query_async(&mut connection)).await;
        let store = &self.store.0.connection;
        let away =
            || StoreError::Unavailable { store: store.name().to_owned(), reason: "no reply (timeout)".to_owned() };
        let reply: Option<StreamReadReply> =
            reading.map_err(|_| away())?.map_err(|error: redis::RedisError| store.problem(&error))?;
        self.connection = Some(connection);
        let notes: Vec<_> = reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids).collect();
        if let Some(newest) = notes.last() {
            self.last = Some(newest.id.clone());
            if self.is_inbox {
                // What was read makes room for others.
                let mut delete = redis::cmd("XDEL");
                delete.arg(&self.key).arg(notes.iter().map(|note| note.id.as_str()).collect::<Vec<_>>());
                self.store.command::<()>(&delete).await?;
            }
        }
        Ok(notes.iter().filter_map(|note| note.get(FIELD)).collect())
    }
}
