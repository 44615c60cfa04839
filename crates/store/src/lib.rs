//! State that outlives a request: rate limits, journals of calls that wait for an answer, and script values. It is kept in
//! memory, or in Redis to share it between proxies. The store knows keys and bytes, not what they mean.

mod bucket;
mod cache;
mod clock;
mod error;
mod driver;
mod memory;
mod redis;
mod expiring_map;
mod space;
mod tags;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use bucket::{Limit, LimitError, TokenDecision};
pub use cache::{CachedResult, StoredResults};
pub use error::StoreError;
pub use redis::{
    ClaimOutcome, ConnectionClaim, ConnectionOwner, DEFAULT_PREFIX, KnownConnection, NoteReader, RedisSettings,
    ReplicaStore, SentNote, SessionRecord,
};
pub use space::Space;
pub use tags::Tags;

use clock::StoreClock;
pub use driver::Outcome;
use driver::StoreDriver;
use proxy_model::Owner;

/// Maximum length of a value's key, in characters.
pub const MAX_KEY: usize = 256;
/// Maximum size of a value, in bytes.
pub const MAX_VALUE: usize = 1 << 20;
/// Maximum total size of the values of one owner, in bytes.
pub const MAX_OWNER: usize = 16 << 20;
/// Maximum number of an owner's marks.
pub const MAX_MARKS: usize = 256;
/// Maximum size of a journal, in bytes.
pub const MAX_JOURNAL: usize = 8 << 20;

/// The store that the config names. Cheap to clone; all clones share one store.
#[derive(Clone)]
pub struct Store {
    driver: Arc<dyn StoreDriver>,
    cache: Arc<StoredResults>,
    replicas: Option<ReplicaStore>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Store({})", self.driver.name())
    }
}

impl Store {
    /// A store in the memory of this process.
    pub fn memory() -> Self {
        Self::with_clock(clock::clock())
    }

    /// A store in memory with its own clock: microseconds since some moment, never decreasing.
    pub fn memory_with(clock: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self::with_clock(clock)
    }

    /// A store in Redis with default settings. Does not connect yet: an unreachable server is reported by the first operation.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn redis(address: &str) -> Result<Self, StoreError> {
        Self::redis_with(&RedisSettings::at(address))
    }

    /// A store in Redis with these settings.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn redis_with(settings: &RedisSettings<'_>) -> Result<Self, StoreError> {
        let driver = redis::RedisStore::new(settings)?;
        let replicas = Some(driver.replicas());
        Ok(Store { driver: Arc::new(driver), cache: Arc::new(StoredResults::new(clock::clock())), replicas })
    }

    fn with_clock(clock: StoreClock) -> Self {
        Store {
            driver: Arc::new(memory::MemoryStore::new(Arc::clone(&clock))),
            cache: Arc::new(StoredResults::new(clock)),
            replicas: None,
        }
    }

    /// The cached results of handlers, always in this process.
    pub fn cache(&self) -> &StoredResults {
        &self.cache
    }

    /// The address of the store without a password.
    pub fn name(&self) -> &str {
        self.driver.name()
    }

    /// How many operations have failed because the store was unavailable or refused them.
    pub fn errors(&self) -> u64 {
        self.driver.errors()
    }

    /// Whether other processes can use the same store, and it outlives this one.
    pub fn is_shared(&self) -> bool {
        self.driver.is_shared()
    }

    /// What several processes know of each other; `None` if no other process can use this store.
    pub fn replicas(&self) -> Option<&ReplicaStore> {
        self.replicas.as_ref()
    }

    /// Takes one token from every bucket, or none if any of them is empty. A bucket named twice loses one token only.
    pub async fn take_tokens(&self, limits: &[Limit]) -> Outcome<TokenDecision> {
        let mut distinct: Vec<&Limit> = limits.iter().collect();
        distinct.sort();
        distinct.dedup();
        if distinct.is_empty() {
            return Ok(TokenDecision::ALLOWED);
        }
        self.driver.take_tokens(&distinct).await
    }

    /// Stores a journal until it is taken or expires.
    pub async fn put_journal(&self, id: &str, content: Vec<u8>, ttl: Duration) -> Outcome<()> {
        if content.len() > MAX_JOURNAL {
            return Err(StoreError::JournalTooLarge { bytes: content.len() });
        }
        self.driver.put_journal(id, content, ttl).await
    }

    /// Removes and returns a journal; of several concurrent callers only one gets it.
    pub async fn take_journal(&self, id: &str) -> Outcome<Option<Vec<u8>>> {
        self.driver.take_journal(id).await
    }

    /// Claims a name for this time. Of all callers, in every process that shares the store, only the first gets `true`.
    pub async fn claim(&self, name: &str, ttl: Duration) -> Outcome<bool> {
        self.driver.claim(name, ttl).await
    }

    /// A record that the proxy keeps for itself. It never expires, and scripts cannot name it.
    pub async fn get_record(&self, name: &str) -> Outcome<Option<Vec<u8>>> {
        self.driver.get_record(name).await
    }

    pub async fn put_record(&self, name: &str, content: Vec<u8>) -> Outcome<()> {
        self.driver.put_record(name, content).await
    }

    pub async fn delete_record(&self, name: &str) -> Outcome<()> {
        self.driver.delete_record(name).await
    }

    /// Adds a name to a list of names of records. A name that is there already stays once.
    pub async fn add_name(&self, list: &str, name: &str) -> Outcome<()> {
        self.driver.add_name(list, name).await
    }

    pub async fn remove_name(&self, list: &str, name: &str) -> Outcome<()> {
        self.driver.remove_name(list, name).await
    }

    /// All names in a list, in no order.
    pub async fn names(&self, list: &str) -> Outcome<Vec<String>> {
        self.driver.names(list).await
    }

    /// Locks a name for a holder, at most for this time; false if another holds it.
    pub async fn lock(&self, name: &str, holder: &str, ttl: Duration) -> Outcome<bool> {
        self.driver.lock(name, holder, ttl).await
    }

    /// Gives a lock back, if this holder still has it.
    pub async fn unlock(&self, name: &str, holder: &str) -> Outcome<()> {
        self.driver.unlock(name, holder).await
    }

    pub async fn get(&self, space: &Space, key: &str) -> Outcome<Option<Vec<u8>>> {
        Ok(self.get_tagged(space, key).await?.map(|(value, _)| value))
    }

    /// A value with its tags.
    pub async fn get_tagged(&self, space: &Space, key: &str) -> Outcome<Option<(Vec<u8>, Tags)>> {
        check_key(key)?;
        Ok(self.driver.get(space, key).await?.map(Tags::split))
    }

    /// Replaces a value and its time to live. Without a time to live the value stays until it is deleted.
    pub async fn set(&self, space: &Space, key: &str, value: Vec<u8>, ttl: Option<Duration>) -> Outcome<()> {
        self.set_tagged(space, key, value, ttl, &Tags::default()).await
    }

    /// Like [`Store::set`], with these tags instead of those of the former value.
    pub async fn set_tagged(
        &self,
        space: &Space,
        key: &str,
        value: Vec<u8>,
        ttl: Option<Duration>,
        tags: &Tags,
    ) -> Outcome<()> {
        check_key(key)?;
        if value.len() > MAX_VALUE {
            return Err(StoreError::ValueTooLarge { key: key.to_owned(), bytes: value.len() });
        }
        self.driver.set(space, key, tags.before(value), ttl).await
    }

    /// Adds to an integer, atomically. A missing value counts as 0 and gets the time to live.
    pub async fn incr(&self, space: &Space, key: &str, by: i64, ttl: Option<Duration>) -> Outcome<i64> {
        Ok(self.incr_tagged(space, key, by, ttl, &Tags::default()).await?.0)
    }

    /// Like [`Store::incr`], and adds these tags to those of the value. Returns the tags that it had.
    pub async fn incr_tagged(
        &self,
        space: &Space,
        key: &str,
        by: i64,
        ttl: Option<Duration>,
        tags: &Tags,
    ) -> Outcome<(i64, Tags)> {
        check_key(key)?;
        self.driver.incr(space, key, by, ttl, tags).await
    }

    /// Adds marks, each with a text, to those of an owner. A mark lasts for this time from now on; one that the owner has
    /// keeps its text.
    pub async fn add_marks(&self, owner: &Owner, marks: &[(Arc<str>, String)], ttl: Duration) -> Outcome<()> {
        if marks.is_empty() {
            return Ok(());
        }
        self.driver.add_marks(owner, marks, ttl).await
    }

    /// The marks of an owner with their texts.
    pub async fn marks(&self, owner: &Owner) -> Outcome<Vec<(String, String)>> {
        self.driver.marks(owner).await
    }

    /// Deletes a value, and returns whether it existed.
    pub async fn delete(&self, space: &Space, key: &str) -> Outcome<bool> {
        check_key(key)?;
        self.driver.delete(space, key).await
    }

    /// Deletes all values of a session or request that has ended.
    pub async fn forget(&self, owner: &Owner) -> Outcome<()> {
        self.driver.forget(owner).await
    }
}

fn check_key(key: &str) -> Outcome<()> {
    match key.chars().count() {
        0 => Err(StoreError::EmptyKey),
        characters if characters > MAX_KEY => Err(StoreError::KeyTooLong { characters }),
        _ => Ok(()),
    }
}
