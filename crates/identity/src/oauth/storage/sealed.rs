//! Records in the Redis that several proxies share, sealed with `serve.stateKeys`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{RecordKey, RecordLock};
use crate::oauth::LogInError;
use proxy_base::seal::{Purpose, Sealer};
use proxy_config::RedisAddress;
use proxy_model::Secret;
use proxy_store::{RedisSettings, Store, StoreError};

/// A lock ends by itself if its holder dies; a renewal takes less.
pub(crate) const LOCK_TTL: Duration = Duration::from_secs(30);
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// The list of the names of all records.
const NAMES: &str = "log-ins";

#[derive(Clone, Debug)]
pub(crate) struct SealedRecords {
    store: Store,
    sealer: Sealer,
    /// Whether it was said already that a record cannot be opened.
    warned: Arc<AtomicBool>,
    unlocking: Unlocking,
}

/// The tasks that give locks back.
type Unlocking = Arc<Mutex<JoinSet<()>>>;

/// A lock in the store, given back when dropped.
#[derive(Debug)]
pub(crate) struct HeldLock {
    store: Store,
    name: String,
    holder: String,
    unlocking: Unlocking,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // Without a runtime the lock ends by itself.
        let Ok(runtime) = Handle::try_current() else { return };
        let (store, name, holder) =
            (self.store.clone(), std::mem::take(&mut self.name), std::mem::take(&mut self.holder));
        let mut unlocking = self.unlocking.lock();
        while unlocking.try_join_next().is_some() {}
        unlocking.spawn_on(async move { drop(store.unlock(&name, &holder).await) }, &runtime);
    }
}

impl SealedRecords {
    pub(crate) fn open(address: &RedisAddress, keys: &[Secret]) -> Result<Self, String> {
        if keys.is_empty() {
            return Err(
                "authorizations cannot be stored: a `store` in Redis requires `serve.stateKeys`, which encrypts them \
                        (generate a key with `openssl rand -base64 32`)"
                    .to_owned(),
            );
        }
        let settings = RedisSettings { prefix: &address.prefix, ..RedisSettings::at(address.url.reveal()) };
        let store = Store::redis_with(&settings).map_err(|error| error.to_string())?;
        let sealer = Sealer::with_keys(keys.iter().map(Secret::reveal)).map_err(|error| error.to_string())?;
        Ok(SealedRecords { store, sealer, warned: Arc::default(), unlocking: Arc::default() })
    }

    /// Completes when every lock that is no longer held was given back.
    pub(crate) async fn unlocked(&self) {
        let mut unlocking = std::mem::take(&mut *self.unlocking.lock());
        while unlocking.join_next().await.is_some() {}
    }

    pub(crate) async fn read(&self, key: &RecordKey) -> Result<Option<Vec<u8>>, LogInError> {
        let Some(sealed) = self.store.get_record(&key.0).await.map_err(problem)? else { return Ok(None) };
        let Some(bytes) = self.opened(key, &sealed) else { return Ok(None) };
        if !self.sealer.is_newest(Purpose::Credential, &key.0, &sealed) {
            self.seal_anew(key).await;
        }
        Ok(Some(bytes))
    }

    /// A record that no key opens is none: somebody can log in again.
    fn opened(&self, key: &RecordKey, sealed: &[u8]) -> Option<Vec<u8>> {
        let opened = self.sealer.open_bytes(Purpose::Credential, &key.0, sealed);
        if opened.is_none() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "an authorization in the store was encrypted with a key that is no longer in `serve.stateKeys`: put the key \
                 back, or log in again"
            );
        }
        opened
    }

    /// Seals a record with the first key, so that the others can be removed one day. Whoever holds its lock is about to
    /// write it with the first key anyway.
    async fn seal_anew(&self, key: &RecordKey) {
        let Ok(Some(_lock)) = self.try_lock(key).await else { return };
        // What was read before the lock may be old by now.
        let Ok(Some(sealed)) = self.store.get_record(&key.0).await else { return };
        if let Some(bytes) = self.opened(key, &sealed) {
            let _ = self.write(key, &bytes).await;
        }
    }

    pub(crate) async fn write(&self, key: &RecordKey, bytes: &[u8]) -> Result<(), LogInError> {
        let sealed = self
            .sealer
            .seal_bytes(Purpose::Credential, &key.0, bytes)
            .map_err(|error| LogInError::Storage(error.to_string()))?;
        self.store.put_record(&key.0, sealed).await.map_err(problem)?;
        // Afterwards: a name without a record is harmless, and the next write of a record without its name adds it.
        self.store.add_name(NAMES, &key.0).await.map_err(problem)
    }

    pub(crate) async fn delete(&self, key: &RecordKey) -> Result<(), LogInError> {
        self.store.delete_record(&key.0).await.map_err(problem)?;
        self.store.remove_name(NAMES, &key.0).await.map_err(problem)
    }

    /// All records that a key opens, with their names.
    pub(crate) async fn all(&self) -> Result<Vec<(RecordKey, Vec<u8>)>, LogInError> {
        let mut found = Vec::new();
        for name in self.store.names(NAMES).await.map_err(problem)? {
            let key = RecordKey(name);
            if let Some(bytes) = self.read(&key).await? {
                found.push((key, bytes));
            }
        }
        Ok(found)
    }

    pub(crate) async fn lock(&self, key: &RecordKey) -> Result<RecordLock, LogInError> {
        let give_up = Instant::now() + LOCK_TTL + Duration::from_secs(5);
        loop {
            if let Some(lock) = self.try_lock(key).await? {
                return Ok(lock);
            }
            if Instant::now() > give_up {
                return Err(LogInError::Storage(
                    "another proxy holds the lock of this authorization in the store".to_owned(),
                ));
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    async fn try_lock(&self, key: &RecordKey) -> Result<Option<RecordLock>, LogInError> {
        let held = HeldLock {
            store: self.store.clone(),
            name: key.0.clone(),
            holder: uuid::Uuid::new_v4().simple().to_string(),
            unlocking: Arc::clone(&self.unlocking),
        };
        // Also if the answer is lost the lock is given back.
        let locked = self.store.lock(&held.name, &held.holder, LOCK_TTL).await.map_err(problem)?;
        Ok(locked.then_some(RecordLock::Store { _held: held }))
    }
}

fn problem(error: StoreError) -> LogInError {
    LogInError::Storage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(store: &Store, keys: &[&str]) -> SealedRecords {
        let sealer = Sealer::with_keys(keys.iter().copied()).unwrap();
        SealedRecords { store: store.clone(), sealer, warned: Arc::default(), unlocking: Arc::default() }
    }

    const OLD: &str = "an old key of at least thirty-two bytes";
    const NEW: &str = "a new key of at least thirty-two bytes!";

    #[tokio::test]
    async fn a_record_is_sealed_and_moves_to_the_first_key_when_it_is_read() {
        let (store, key) = (Store::memory(), RecordKey::new("h", "https://h/", None, None));
        sealed(&store, &[OLD]).write(&key, b"refresh-1").await.unwrap();
        let raw = store.get_record(&key.0).await.unwrap().unwrap();
        assert!(!raw.windows(9).any(|window| window == b"refresh-1"));
        let both = sealed(&store, &[NEW, OLD]);
        assert_eq!(both.read(&key).await.unwrap().unwrap(), b"refresh-1");
        assert_eq!(sealed(&store, &[NEW]).read(&key).await.unwrap().unwrap(), b"refresh-1");
        assert_eq!(sealed(&store, &[OLD]).read(&key).await.unwrap(), None, "the old key opens it no longer");
        assert_eq!(both.all().await.unwrap(), [(key.clone(), b"refresh-1".to_vec())]);
        both.delete(&key).await.unwrap();
        assert_eq!(both.read(&key).await.unwrap(), None);
        assert!(both.all().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn one_holds_the_lock_at_a_time() {
        let (store, key) = (Store::memory(), RecordKey::new("h", "https://h/", None, None));
        let (one, other) = (sealed(&store, &[NEW]), sealed(&store, &[NEW]));
        let held = one.lock(&key).await.unwrap();
        assert!(other.try_lock(&key).await.unwrap().is_none());
        drop(held);
        one.unlocked().await;
        assert!(other.try_lock(&key).await.unwrap().is_some());
    }

    #[test]
    fn without_keys_nothing_is_kept() {
        let error = SealedRecords::open(&RedisAddress { url: Secret::new("redis://h:1"), prefix: "p".to_owned() }, &[])
            .unwrap_err();
        assert!(error.contains("serve.stateKeys"), "{error}");
    }
}
