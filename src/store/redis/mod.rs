//! The store in a Redis, shared by all that name it. Every operation is one script there, so it is atomic; the time is the
//! server's, so that all who share it agree.

mod link;

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use redis::{Cmd, FromRedisValue, Script, ScriptInvocation};

use super::home::{Home, Outcome};
use super::space::COST_OF_ENTRY;
use super::{Holder, Limit, MAX_OWNER, Space, StoreError, Verdict};
use link::{Again, Link};

/// How long the values of a session stay after their last use if nobody could say that it ended.
const SESSION: Duration = Duration::from_secs(30 * 24 * 3600);
/// The same of a single request.
const REQUEST: Duration = Duration::from_secs(3600);

pub(super) struct Redis {
    link: Link,
    prefix: &'static str,
    /// Tells the sessions of this process from those of others.
    process: String,
    scripts: Scripts,
}

struct Scripts {
    take_tokens: Script,
    take_journal: Script,
    get: Script,
    set: Script,
    incr: Script,
    delete: Script,
}

impl Scripts {
    fn new() -> Self {
        let about_values = |text: &str| Script::new(&format!("{}\n{text}", include_str!("values.lua")));
        Scripts {
            take_tokens: Script::new(include_str!("take_tokens.lua")),
            take_journal: Script::new(include_str!("take_journal.lua")),
            get: about_values(include_str!("get.lua")),
            set: about_values(include_str!("set.lua")),
            incr: about_values(include_str!("incr.lua")),
            delete: about_values(include_str!("delete.lua")),
        }
    }
}

impl Redis {
    pub(super) fn new(address: &str) -> Outcome<Self> {
        let process = uuid::Uuid::new_v4().simple().to_string();
        Ok(Redis { link: Link::new(address)?, prefix: "mcp-proxy", process, scripts: Scripts::new() })
    }

    fn keys_of(&self, holder: &Holder) -> [String; 3] {
        let holder = holder.text(&self.process);
        ["values", "ends", "used"].map(|part| format!("{}:{part}:{holder}", self.prefix))
    }

    /// A script about one value, with what every such script takes.
    fn about<'a>(&self, script: &'a Script, space: &Space, key: &str) -> ScriptInvocation<'a> {
        let lease = match &space.holder {
            Holder::Everybody | Holder::Person(_) => Duration::ZERO,
            Holder::Session(_) => SESSION,
            Holder::Request(_) => REQUEST,
        };
        let mut invocation = script.prepare_invoke();
        for key in self.keys_of(&space.holder) {
            invocation.key(key);
        }
        invocation.arg(millis(lease)).arg(COST_OF_ENTRY).arg(space.field(key));
        invocation
    }

    async fn run<T: FromRedisValue>(&self, invocation: ScriptInvocation<'_>, again: Again) -> Outcome<T> {
        self.link
            .run(again, |mut connection| {
                let invocation = &invocation;
                async move { invocation.invoke_async(&mut connection).await }
            })
            .await
    }

    async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Outcome<T> {
        self.link.run(Again::Always, |mut connection| async move { command.query_async(&mut connection).await }).await
    }

    /// What a script about values answers: a word, and a value where there is one.
    async fn value(&self, invocation: ScriptInvocation<'_>, key: &str, again: Again) -> Outcome<Option<Vec<u8>>> {
        let (status, value): (String, Option<Vec<u8>>) = self.run(invocation, again).await?;
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

impl Home for Redis {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn take_tokens<'a>(&'a self, limits: &'a [&'a Limit]) -> BoxFuture<'a, Outcome<Verdict>> {
        async move {
            let mut invocation = self.scripts.take_tokens.prepare_invoke();
            for limit in limits {
                invocation.key(format!("{}:bucket:{limit}", self.prefix));
                invocation.arg(limit.tokens()).arg(limit.window());
            }
            let wait: u64 = self.run(invocation, Again::Always).await?;
            Ok(if wait == 0 { Verdict::ALLOWED } else { Verdict::refused(wait) })
        }
        .boxed()
    }

    fn put_journal<'a>(&'a self, id: &'a str, content: Vec<u8>, ttl: Duration) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("SET");
            command.arg(format!("{}:journal:{id}", self.prefix)).arg(content).arg("PX").arg(millis(ttl).max(1));
            self.command(&command).await
        }
        .boxed()
    }

    fn take_journal<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        async move {
            let mut invocation = self.scripts.take_journal.prepare_invoke();
            invocation.key(format!("{}:journal:{id}", self.prefix));
            // Asked twice it could be gone, and nobody would have it.
            self.run(invocation, Again::IfNothingWasSent).await
        }
        .boxed()
    }

    fn get<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        async move {
            let invocation = self.about(&self.scripts.get, space, key);
            let (_, value): (String, Option<Vec<u8>>) = self.run(invocation, Again::Always).await?;
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
            let mut invocation = self.about(&self.scripts.set, space, key);
            invocation.arg(value).arg(optional(ttl)).arg(MAX_OWNER);
            self.value(invocation, key, Again::Always).await.map(|_| ())
        }
        .boxed()
    }

    fn incr<'a>(
        &'a self,
        space: &'a Space,
        key: &'a str,
        by: i64,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Outcome<i64>> {
        async move {
            let mut invocation = self.about(&self.scripts.incr, space, key);
            invocation.arg(by).arg(optional(ttl)).arg(MAX_OWNER);
            // Done twice it would count twice.
            let text = self.value(invocation, key, Again::IfNothingWasSent).await?.unwrap_or_default();
            let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            number.ok_or_else(|| StoreError::NotAWholeNumber { key: key.to_owned() })
        }
        .boxed()
    }

    fn delete<'a>(&'a self, space: &'a Space, key: &'a str) -> BoxFuture<'a, Outcome<bool>> {
        async move {
            let invocation = self.about(&self.scripts.delete, space, key);
            Ok(self.value(invocation, key, Again::Always).await?.is_some())
        }
        .boxed()
    }

    fn forget<'a>(&'a self, holder: &'a Holder) -> BoxFuture<'a, Outcome<()>> {
        async move {
            let mut command = redis::cmd("DEL");
            self.keys_of(holder).iter().for_each(|key| {
                command.arg(key);
            });
            self.command(&command).await
        }
        .boxed()
    }
}

fn millis(duration: Duration) -> u64 {
    // More than a hundred years is for good, and a number that the scripts can add to.
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(100 * 366 * 24 * 3_600_000)
}

/// A time to live; 0 is none, so the shortest is 1.
fn optional(ttl: Option<Duration>) -> u64 {
    ttl.map_or(0, |ttl| millis(ttl).max(1))
}
