//! `store`: where rate limits, waiting calls and script values are stored.

use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreAddress {
    /// In the memory of this process.
    #[default]
    Memory,
    /// In Redis at this URL.
    Redis(Secret),
}

pub(crate) fn read_store(reader: &ValueReader) -> Option<StoreAddress> {
    let mut fields = reader.fields()?;
    let url = fields.get("url");
    fields.finish();
    let Some(url) = url else { return reader.fail("missing key `url` (`memory://` or `redis://HOST:PORT`)") };
    let address = url.word()?;
    match address.split_once("://") {
        Some(("memory", "")) => Some(StoreAddress::Memory),
        Some(("redis" | "rediss" | "unix" | "redis+unix", rest)) if !rest.is_empty() => {
            Some(StoreAddress::Redis(Secret::new(address)))
        }
        Some(("redis" | "rediss" | "unix" | "redis+unix", _)) => url.fail("missing host: expected `redis://HOST:PORT`"),
        _ => {
            let problem = url.problem("unknown kind of store");
            url.report(problem.hint("use `memory://`, or `redis://HOST:PORT` to share the store between proxies"));
            None
        }
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
        assert_eq!(config.store, StoreAddress::Redis(Secret::new("redis://:s3cret-from-environment@h:6379/1")));
        assert!(!format!("{:?}", config.store).contains("s3cret"));
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
    }
}
