//! The store in Redis, shared by all proxies with its address. Every operation is one Lua script, so it is atomic. The
//! scripts use the time of the Redis server, so all proxies agree on it.

mod connection;
mod holders;
mod keys;
mod replicas;
mod results;

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use redis::{Cmd, FromRedisValue, Script, ScriptInvocation};

use super::driver::{Outcome, StoreDriver};
use super::space::ENTRY_OVERHEAD;
use super::tags::Tags;
use super::{Limit, MAX_MARKS, MAX_OWNER, Space, StoreError, TokenDecision};
use connection::{RedisConnection, RetryPolicy};
pub use holders::{ClaimOutcome, ConnectionClaim, ConnectionOwner, KnownConnection};
pub use keys::DEFAULT_PREFIX;
use keys::Keys;
use proxy_model::Owner;
pub use replicas::{NoteReader, ReplicaStore, SentNote, SessionRecord};

/// Expiry of the values of a process, or of a session that cannot come back, after their last use: their end may not have
/// been recorded.
const CONNECTION_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
/// Expiry of a request's values after their last use, for requests whose end was not recorded.
const REQUEST_TTL: Duration = Duration::from_secs(3600);

/// A store in Redis as the config describes it.
#[derive(Clone, Copy, Debug)]
pub struct RedisSettings<'a> {
    /// The URL. The nodes of a Redis Cluster are separated by commas.
    pub address: &'a str,
    /// Begins all keys.
    pub prefix: &'a str,
    /// How long the values of a session stay after their last use, because the session may come back. Zero if none does.
    pub session_lifetime: Duration,
}

impl<'a> RedisSettings<'a> {
    /// Sessions do not come back.
    pub fn at(address: &'a str) -> Self {
        RedisSettings { address, prefix: DEFAULT_PREFIX, session_lifetime: Duration::ZERO }
    }
}

pub(super) struct RedisStore {
    connection: Arc<RedisConnection>,
    keys: Keys,
    /// Expiry of a session's values after their last use.
    session_ttl: Duration,
    scripts: Scripts,
}

struct Scripts {
    take_tokens: Script,
    take_journal: Script,
    unlock: Script,
    get: Script,
    set: Script,
    incr: Script,
    delete: Script,
    add_marks: Script,
    marks: Script,
}

impl Scripts {
    fn new() -> Self {
        let with_value_functions = |text: &str| Script::new(&format!("{}\n{text}", include_str!("values.lua")));
        Scripts {
            take_tokens: Script::new(include_str!("take_tokens.lua")),
            take_journal: Script::new(include_str!("take_journal.lua")),
            unlock: Script::new(include_str!("unlock.lua")),
            get: with_value_functions(include_str!("get.lua")),
            set: with_value_functions(include_str!("set.lua")),
            incr: with_value_functions(include_str!("incr.lua")),
            delete: with_value_functions(include_str!("delete.lua")),
            add_marks: Script::new(include_str!("add_marks.lua")),
            marks: Script::new(include_str!("marks.lua")),
        }
    }
}

impl RedisStore {
    pub(super) fn new(settings: &RedisSettings<'_>) -> Outcome<Self> {
        let RedisSettings { address, prefix, session_lifetime } = *settings;
        Ok(RedisStore {
            connection: Arc::new(RedisConnection::new(address)?),
            keys: Keys::new(prefix, uuid::Uuid::new_v4().simple().to_string()),
            session_ttl: if session_lifetime.is_zero() { CONNECTION_TTL } else { session_lifetime },
            scripts: Scripts::new(),
        })
    }

    /// What several processes know of each other.
    pub(super) fn replicas(&self) -> ReplicaStore {
        ReplicaStore::new(Arc::clone(&self.connection), self.keys.clone())
    }

    /// How long the values of an owner stay after the last use. Zero if they stay.
    fn lease(&self, owner: &Owner) -> Duration {
        match owner {
            Owner::Everybody | Owner::Person(_) => Duration::ZERO,
            Owner::Session(_) => self.session_ttl,
            Owner::Process => CONNECTION_TTL,
            Owner::Request(_) => REQUEST_TTL,
            Owner::UnderProfile(_, owner) => self.lease(owner),
        }
    }

    /// The invocation of a script about one value, with the arguments that all of them have in common.
    fn value_script<'a>(&self, script: &'a Script, space: &Space, key: &str) -> ScriptInvocation<'a> {
        let lease = self.lease(&space.owner);
        let mut invocation = script.prepare_invoke();
        for key in self.keys.values(&space.owner) {
            invocation.key(key);
        }
        invocation.arg(millis(lease)).arg(ENTRY_OVERHEAD).arg(space.field(key));
        invocation
    }

    async fn run<T: FromRedisValue>(&self, invocation: ScriptInvocation<'_>, retry: RetryPolicy) -> Outcome<T> {
        self.connection
            .run(retry, |mut connection| {
                let invocation = &invocation;
                async move { invocation.invoke_async(&mut connection).await }
            })
            .await
    }

    async fn command<T: FromRedisValue>(&self, command: &Cmd, retry: RetryPolicy) -> Outcome<T> {
        self.connection.run(retry, |mut connection| async move { command.query_async(&mut connection).await }).await
    }

    /// Runs a script about one value, which returns a status and possibly a value.
    async fn value(&self, invocation: ScriptInvocation<'_>, key: &str, retry: RetryPolicy) -> Outcome<Option<Vec<u8>>> {
        let (status, value): (String, Option<Vec<u8>>) = self.run(invocation, retry).await?;
        let key = || key.to_owned();
        match status.as_str() {
            "full" => Err(StoreError::OwnerFull { key: key() }),
            "out of range" => Err(StoreError::OutOfRange { key: key() }),
            "not a whole number" => Err(StoreError::NotAWholeNumber { key: key() }),
            "absent" => Ok(None),
            _ => Ok(Some(value.unwrap_or_default())),
        }
    }
}

impl StoreDriver for RedisStore {
    fn name(&self) -> &str {
        self.connection.name()
    }

    fn errors(&self) -> u64 {
        self.connection.errors()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn take_tokens<'a>(&'a self, limits: &'a [&'a Limit]) -> BoxFuture<'a, Outcome<TokenDecision>> {
        async move {
            let mut invocation = self.scripts.take_tokens.prepare_invoke();
            for limit in limits {
                invocation.key(self.keys.bucket(limit));
                invocation.arg(limit.tokens()).arg(limit.window());
            }
            let wait: u64 = self.run(invocation, RetryPolicy::Always).await?;
            Ok(if wait == 0 { TokenDecision::ALLOWED } else { TokenDecision::refused(wait) })
        }
        .boxed()
    }

    fn put_journal<'a>(&'a self, id: &'a str, content: Vec<u8>, ttl: Duration) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("SET");
            command.arg(self.keys.named("journal", id)).arg(content).arg("PX").arg(millis(ttl).max(1));
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn take_journal<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        async move {
            let mut invocation = self.scripts.take_journal.prepare_invoke();
            invocation.key(self.keys.named("journal", id));
            // If the first attempt took the journal and its reply was lost, a retry would find nothing.
            self.run(invocation, RetryPolicy::IfNotSent).await
        }
        .boxed()
    }

    fn claim<'a>(&'a self, name: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>> {
        async move {
            let mut command = redis::cmd("SET");
            command.arg(self.keys.named("claim", name)).arg(1).arg("NX").arg("PX").arg(millis(ttl).max(1));
            // If the first attempt claimed the name and its reply was lost, a retry would find it claimed.
            let set: Option<String> = self.command(&command, RetryPolicy::IfNotSent).await?;
            Ok(set.is_some())
        }
        .boxed()
    }

    fn get_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        async move {
            let mut command = redis::cmd("GET");
            command.arg(self.keys.named("record", name));
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn put_record<'a>(&'a self, name: &'a str, content: Vec<u8>) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("SET");
            command.arg(self.keys.named("record", name)).arg(content);
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn delete_record<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("DEL");
            command.arg(self.keys.named("record", name));
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn add_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("SADD");
            command.arg(self.keys.named("names", list)).arg(name);
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn remove_name<'a>(&'a self, list: &'a str, name: &'a str) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("SREM");
            command.arg(self.keys.named("names", list)).arg(name);
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn names<'a>(&'a self, list: &'a str) -> BoxFuture<'a, Outcome<Vec<String>>> {
        async move {
            let mut command = redis::cmd("SMEMBERS");
            command.arg(self.keys.named("names", list));
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn lock<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> BoxFuture<'a, Outcome<bool>> {
        async move {
            let mut command = redis::cmd("SET");
            command.arg(self.keys.named("lock", name)).arg(holder);
            command.arg("NX").arg("PX").arg(millis(ttl).max(1));
            let set: Option<String> = self.command(&command, RetryPolicy::IfNotSent).await?;
            Ok(set.is_some())
        }
        .boxed()
    }

    fn unlock<'a>(&'a self, name: &'a str, holder: &'a str) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut invocation = self.scripts.unlock.prepare_invoke();
            invocation.key(self.keys.named("lock", name)).arg(holder);
            self.run(invocation, RetryPolicy::Always).await
        }
        .boxed()
    }

    fn get<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        async move {
            let invocation = self.value_script(&self.scripts.get, space, key);
            let (_, value): (String, Option<Vec<u8>>) = self.run(invocation, RetryPolicy::Always).await?;
            Ok(value)
        }
        .boxed()
    }

    fn set<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        value: Vec<u8>,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut invocation = self.value_script(&self.scripts.set, space, key);
            invocation.arg(value).arg(optional(ttl)).arg(MAX_OWNER);
            self.value(invocation, key, RetryPolicy::Always).await.map(|_| ())
        }
        .boxed()
    }

    fn incr<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        by: i64,
        ttl: Option<Duration>,
        tags: &'a Tags,
    ) -> BoxFuture<'a, Outcome<(i64, Tags)>> {
        async move {
            let mut invocation = self.value_script(&self.scripts.incr, space, key);
            invocation.arg(by).arg(optional(ttl)).arg(MAX_OWNER).arg(tags.text());
            // A retry could count twice.
            let stored = self.value(invocation, key, RetryPolicy::IfNotSent).await?.unwrap_or_default();
            let (text, known) = Tags::split(stored);
            let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            let number = number.ok_or_else(|| StoreError::NotAWholeNumber { key: key.to_owned() })?;
            Ok((number, known))
        }
        .boxed()
    }

    fn add_marks<'a>(
        &'a self,
        owner: &'a Owner,
        marks: &'a [(Arc<str>, String)],
        ttl: Duration,
    ) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut invocation = self.scripts.add_marks.prepare_invoke();
            invocation.key(self.keys.marks(owner)).arg(millis(ttl).max(1)).arg(MAX_MARKS);
            for (mark, text) in marks {
                invocation.arg(mark.as_ref()).arg(text);
            }
            let added: u64 = self.run(invocation, RetryPolicy::Always).await?;
            if added == 0 { Err(StoreError::TooManyMarks) } else { Ok(()) }
        }
        .boxed()
    }

    fn marks<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<Vec<(String, String)>>> {
        async move {
            let mut invocation = self.scripts.marks.prepare_invoke();
            invocation.key(self.keys.marks(owner));
            let flat: Vec<String> = self.run(invocation, RetryPolicy::Always).await?;
            Ok(flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<bool>> {
        async move {
            let invocation = self.value_script(&self.scripts.delete, space, key);
            Ok(self.value(invocation, key, RetryPolicy::Always).await?.is_some())
        }
        .boxed()
    }

    fn forget<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("DEL");
            for key in self.keys.values(owner).into_iter().chain([self.keys.marks(owner)]) {
                command.arg(key);
            }
            self.command(&command, RetryPolicy::Always).await
        }
        .boxed()
    }
}

fn millis(duration: Duration) -> u64 {
    // The maximum of a hundred years keeps sums in the scripts within the 53 bits of a Lua number.
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(100 * 366 * 24 * 3_600_000)
}

/// A time to live in milliseconds; 0 means none, so the minimum is 1.
fn optional(ttl: Option<Duration>) -> u64 {
    ttl.map_or(0, |ttl| millis(ttl).max(1))
}
