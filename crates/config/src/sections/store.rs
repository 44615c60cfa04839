//! `store`: where rate limits, waiting calls and script values are stored.

use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreAddress {
    /// In the memory of this process.
    #[default]
    Memory,
    Redis(RedisAddress),
}

/// Where a Redis is, and which of its keys are ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisAddress {
    /// The URL. It may contain a password.
    pub url: Secret,
    /// Begins all keys.
    pub prefix: String,
}

/// The prefix of all keys, unless the config sets another.
const DEFAULT_PREFIX: &str = "mcp-proxy";
const MAX_PREFIX_BYTES: usize = 100;

pub(crate) fn read_store(reader: &ValueReader) -> Option<StoreAddress> {
    let mut fields = reader.fields()?;
    let url = fields.get("url");
    let mut prefix = DEFAULT_PREFIX.to_owned();
    let has_prefix = fields.get("prefix").is_some();
    fields.set(&mut prefix, "prefix", read_prefix);
    fields.finish();
    let Some(url) = url else { return reader.fail("missing key `url` (`memory://` or `redis://HOST:PORT`)") };
    let address = url.word()?;
    match address.split_once("://") {
        Some(("memory", "")) if has_prefix => reader.fail("`prefix` is for stores in Redis"),
        Some(("memory", "")) => Some(StoreAddress::Memory),
        Some(("redis" | "rediss" | "redis-cluster" | "rediss-cluster" | "unix" | "redis+unix", rest))
            if !rest.is_empty() =>
        {
            Some(StoreAddress::Redis(RedisAddress { url: Secret::new(address), prefix }))
        }
        Some(("redis" | "rediss" | "redis-cluster" | "rediss-cluster" | "unix" | "redis+unix", _)) => {
            url.fail("missing host: expected `redis://HOST:PORT`")
        }
        _ => {
            let problem = url.problem("unknown kind of store");
            url.report(problem.hint("use `memory://`, or `redis://HOST:PORT` to share the store between proxies"));
            None
        }
    }
}

/// Braces would change where a Redis Cluster puts a key.
fn read_prefix(reader: &ValueReader) -> Option<String> {
    let prefix = reader.string()?;
    let fits = !prefix.is_empty()
        && prefix.len() <= MAX_PREFIX_BYTES
        && prefix.bytes().all(|byte| byte.is_ascii_graphic() && !b"{}*?[]\\".contains(&byte));
    if fits {
        Some(prefix)
    } else {
        reader.expected("a prefix such as `mcp-proxy`: up to 100 letters, digits, `-`, `_`, `:`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_store_is_in_memory_or_in_redis() {
        assert_eq!(loaded("").store, StoreAddress::Memory);
        assert_eq!(loaded("store: {url: 'memory://'}").store, StoreAddress::Memory);
        let config = loaded("store: {url: 'redis://:${TOKEN}@h:6379/1'}");
        let redis = |url: &str, prefix: &str| {
            StoreAddress::Redis(RedisAddress { url: Secret::new(url), prefix: prefix.to_owned() })
        };
        assert_eq!(config.store, redis("redis://:s3cret-from-environment@h:6379/1", "mcp-proxy"));
        assert!(!format!("{:?}", config.store).contains("s3cret"));
        let config = loaded("store: {url: 'redis-cluster://a:1,b:2', prefix: 'team-a:'}");
        assert_eq!(config.store, redis("redis-cluster://a:1,b:2", "team-a:"));
    }

    #[test]
    fn another_kind_of_store_is_refused_with_what_there_is() {
        assert_eq!(
            errors("store: {url: 'mysql://u:s3cret@h'}"),
            ["1:14 `store.url`: unknown kind of store (use `memory://`, or `redis://HOST:PORT` to share the \
              store between proxies)"]
        );
        assert_eq!(errors("store: {}"), ["1:8 `store`: missing key `url` (`memory://` or `redis://HOST:PORT`)"]);
        assert_eq!(
            errors("store: {url: 'redis://'}"),
            ["1:14 `store.url`: missing host: expected `redis://HOST:PORT`"]
        );
        assert_eq!(errors("store: {url: 'memory://', urll: 1}").len(), 1);
        assert_eq!(errors("store: {url: 'memory://', prefix: a}"), ["1:8 `store`: `prefix` is for stores in Redis"]);
        for prefix in ["''", "'{a}'", "'a b'", "'a*'", &"a".repeat(101)] {
            let found = errors(&format!("store: {{url: 'redis://h', prefix: {prefix}}}"));
            assert!(found.len() == 1 && found[0].contains("`store.prefix`"), "{found:?}");
        }
    }
}
