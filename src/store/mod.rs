//! What outlives a request, and in Redis also a process: rate limits, the journals of calls that wait for a person, and
//! what scripts remember. One set of operations, two homes: the memory of this process, or a Redis that several share.

mod bucket;
mod cache;
mod clock;
mod error;
mod home;
mod memory;
mod redis;
mod expiring_map;
mod space;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use bucket::{Limit, LimitError, Verdict};
pub use cache::Cache;
pub use error::StoreError;
pub use space::{Holder, Space};

use clock::Clock;
use home::Home;
pub use home::Outcome;

/// The longest key of a value, in characters.
pub const MAX_KEY: usize = 256;
/// The largest value, in bytes.
pub const MAX_VALUE: usize = 1 << 20;
/// What the values of one owner may take together, in bytes.
pub const MAX_OWNER: usize = 16 << 20;
/// The largest journal, in bytes.
pub const MAX_JOURNAL: usize = 8 << 20;

/// The store that the config names. Cheap to clone: all clones are one store.
#[derive(Clone)]
pub struct Store {
    home: Arc<dyn Home>,
    cache: Arc<Cache>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Store({})", self.home.name())
    }
}

impl Store {
    /// In the memory of this process, gone with it.
    pub fn memory() -> Self {
        Self::at_time(clock::clock())
    }

    /// The same with another clock: microseconds since some moment, never going back.
    pub fn memory_with(clock: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self::at_time(clock)
    }

    /// In a Redis. Nothing is sent yet: a store that is down is told by the first use.
    ///
    /// # Errors
    /// If the address cannot be understood.
    pub fn redis(address: &str) -> Result<Self, StoreError> {
        let home = Arc::new(redis::Redis::new(address)?);
        Ok(Store { home, cache: Arc::new(Cache::new(clock::clock())) })
    }

    fn at_time(clock: Clock) -> Self {
        Store { home: Arc::new(memory::Memory::new(Arc::clone(&clock))), cache: Arc::new(Cache::new(clock)) }
    }

    /// Results that handlers of this process remember.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Its address without a password.
    pub fn name(&self) -> &str {
        self.home.name()
    }

    /// One token from every bucket, or none at all if one of them is empty. A bucket named twice gives one token.
    pub async fn take_tokens(&self, limits: &[Limit]) -> Outcome<Verdict> {
        let mut distinct: Vec<&Limit> = limits.iter().collect();
        distinct.sort();
        distinct.dedup();
        if distinct.is_empty() {
            return Ok(Verdict::ALLOWED);
        }
        self.home.take_tokens(&distinct).await
    }

    /// Keeps a journal until it is taken or its time is over.
    pub async fn put_journal(&self, id: &str, content: Vec<u8>, ttl: Duration) -> Outcome<()> {
        if content.len() > MAX_JOURNAL {
            return Err(StoreError::JournalTooLarge { bytes: content.len() });
        }
        self.home.put_journal(id, content, ttl).await
    }

    /// The journal, which is then gone: of several that ask at once, one gets it.
    pub async fn take_journal(&self, id: &str) -> Outcome<Option<Vec<u8>>> {
        self.home.take_journal(id).await
    }

    pub async fn get(&self, space: &Space, key: &str) -> Outcome<Option<Vec<u8>>> {
        check_key(key)?;
        self.home.get(space, key).await
    }

    /// Replaces the value and its time to live; without one it stays until it is deleted.
    pub async fn set(&self, space: &Space, key: &str, value: Vec<u8>, ttl: Option<Duration>) -> Outcome<()> {
        check_key(key)?;
        if value.len() > MAX_VALUE {
            return Err(StoreError::ValueTooLarge { key: key.to_owned(), bytes: value.len() });
        }
        self.home.set(space, key, value, ttl).await
    }

    /// Adds to a whole number, atomically; one that is not there is 0 and gets the time to live.
    pub async fn incr(&self, space: &Space, key: &str, by: i64, ttl: Option<Duration>) -> Outcome<i64> {
        check_key(key)?;
        self.home.incr(space, key, by, ttl).await
    }

    /// Whether there was anything to delete.
    pub async fn delete(&self, space: &Space, key: &str) -> Outcome<bool> {
        check_key(key)?;
        self.home.delete(space, key).await
    }

    /// Forgets all values of somebody who is no more.
    pub async fn forget(&self, holder: &Holder) -> Outcome<()> {
        self.home.forget(holder).await
    }
}

fn check_key(key: &str) -> Outcome<()> {
    match key.chars().count() {
        0 => Err(StoreError::EmptyKey),
        characters if characters > MAX_KEY => Err(StoreError::KeyTooLong { characters }),
        _ => Ok(()),
    }
}
