//! The log-in of a person at one server, as this process knows it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::known::KnownLogIn;
use super::renewal::Renewal;
use crate::oauth::LogInError;
use crate::oauth::failures::TokenFailures;
use crate::oauth::storage::{CredentialStorage, LogInRecord, RecordKey, RecordLock};
use proxy_wire::http::Fetcher;

/// How long a log-in is looked for closely after somebody was asked for it: as long as the page waits for it. Most of those
/// who are never asked again never log in.
const AWAITED_TIME: Duration = Duration::from_secs(10 * 60);

/// The log-ins that this process knows, by their records.
pub(crate) type PersonLogIns = Arc<Mutex<HashMap<RecordKey, Arc<PersonLogIn>>>>;

/// One for each record and process.
pub(crate) struct PersonLogIn {
    pub(crate) key: RecordKey,
    /// The record of the client with which the people of the entry log in, if it is the log-in of one of them.
    pub(super) entry: OnceLock<RecordKey>,
    /// The authorization server that the config names.
    pub(crate) issuer: Option<String>,
    pub(crate) storage: CredentialStorage,
    pub(crate) fetcher: Arc<Fetcher>,
    known: ArcSwap<KnownLogIn>,
    /// Until when another log-in than the present one is looked for closely.
    awaited_until: Mutex<Option<Instant>>,
    /// Identifies the present log-in; `None` while there is none.
    current: watch::Sender<Option<String>>,
    /// Held while the storage is read or written and the outcome becomes known: what was read before a write must not
    /// become known after it.
    storing: tokio::sync::Mutex<()>,
    /// The renewal that is under way.
    pub(crate) renewing: Mutex<Option<Shared<BoxFuture<'static, Renewal>>>>,
    pub(crate) failures: Mutex<TokenFailures>,
    /// The last attempt to log in, if it failed.
    attempt: Mutex<Option<FailedAttempt>>,
}

/// An attempt to log in that failed in this process.
struct FailedAttempt {
    at: Instant,
    why: String,
}

impl fmt::Debug for PersonLogIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PersonLogIn").field("key", &self.key).finish_non_exhaustive()
    }
}

impl PersonLogIn {
    pub(crate) fn new(
        key: RecordKey,
        issuer: Option<String>,
        storage: CredentialStorage,
        fetcher: Arc<Fetcher>,
    ) -> Self {
        PersonLogIn {
            key,
            entry: OnceLock::new(),
            issuer,
            storage,
            fetcher,
            known: ArcSwap::default(),
            awaited_until: Mutex::default(),
            current: watch::Sender::default(),
            storing: tokio::sync::Mutex::default(),
            renewing: Mutex::default(),
            failures: Mutex::default(),
            attempt: Mutex::default(),
        }
    }

    /// Remembers why an attempt to log in failed, for whoever waits for it. An answer that was not expected is none.
    pub(crate) fn note_attempt<T>(&self, outcome: &Result<T, LogInError>) {
        match outcome {
            Ok(_) => *self.attempt.lock() = None,
            Err(LogInError::Callback(_)) => {}
            Err(error) => {
                let why = error.to_string();
                *self.attempt.lock() = Some(FailedAttempt { at: Instant::now(), why });
            }
        }
    }

    /// Why there is no log-in that is good, as far as there was one, or an attempt.
    pub(super) fn why_missing(&self) -> Option<String> {
        let attempt = self.attempt.lock();
        if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.at.elapsed() < AWAITED_TIME) {
            return Some(format!("the last attempt failed: {}", attempt.why));
        }
        self.known.load().why_ended()
    }

    pub(super) fn known(&self) -> arc_swap::Guard<Arc<KnownLogIn>> {
        self.known.load()
    }

    /// Reads the record, if that has not been done.
    pub(crate) async fn load(&self) -> Result<(), LogInError> {
        if self.known.load().loaded {
            return Ok(());
        }
        let _storing = self.storing.lock().await;
        if !self.known.load().loaded {
            let found = self.stored().await?.map(Arc::new);
            self.know(KnownLogIn::new(found.clone(), found));
        }
        Ok(())
    }

    fn know(&self, known: KnownLogIn) {
        let log_in = known.log_in();
        self.known.store(Arc::new(known));
        // A renewal is the same log-in, and nobody waits for the end of one.
        self.current.send_if_modified(|current| {
            let changed = *current != log_in;
            if changed && log_in.is_some() {
                *self.awaited_until.lock() = None;
            }
            *current = log_in;
            changed
        });
    }

    /// What the storage has now.
    pub(crate) async fn stored(&self) -> Result<Option<LogInRecord>, LogInError> {
        self.storage.read(&self.key).await
    }

    /// Takes up what others have stored since the last time. Returns whether there was something.
    pub(crate) async fn take_up(&self) -> Result<bool, LogInError> {
        if !self.known.load().loaded {
            return self.load().await.map(|()| false);
        }
        let _storing = self.storing.lock().await;
        let found = self.stored().await?;
        let changed = found.as_ref() != self.known.load().stored.as_deref();
        if changed {
            let found = found.map(Arc::new);
            self.failures.lock().clear();
            self.know(KnownLogIn::new(found.clone(), found));
        }
        Ok(changed)
    }

    /// Stores a record and uses it. If it cannot be stored it is used all the same, and the error says so: the tokens that it
    /// replaces may be spent.
    pub(crate) async fn replace(&self, lock: &RecordLock, record: LogInRecord) -> Result<(), LogInError> {
        let _storing = self.storing.lock().await;
        let written = self.storage.write(lock, &self.key, &record).await;
        let record = Some(Arc::new(record));
        let stored = if written.is_ok() { record.clone() } else { self.known.load().stored.clone() };
        self.know(KnownLogIn::new(record, stored));
        written
    }

    /// Stores the record of a new log-in, or of a new client.
    pub(crate) async fn save(&self, record: LogInRecord) -> Result<(), LogInError> {
        let lock = self.storage.lock(&self.key).await?;
        self.failures.lock().clear();
        let _storing = self.storing.lock().await;
        self.storage.write(&lock, &self.key, &record).await?;
        let record = Some(Arc::new(record));
        self.know(KnownLogIn::new(record.clone(), record));
        Ok(())
    }

    /// Stores a change of the record that others may have changed in the meantime.
    pub(crate) async fn change(&self, change: impl FnOnce(&mut LogInRecord)) -> Result<(), LogInError> {
        let lock = self.storage.lock(&self.key).await?;
        self.take_up().await?;
        let Some(record) = self.known.load().record.clone() else { return Ok(()) };
        let mut changed = LogInRecord::clone(&record);
        change(&mut changed);
        if changed == *record { Ok(()) } else { self.replace(&lock, changed).await }
    }

    /// Forgets the log-in, here and in the storage. `kept` is what remains of it.
    pub(crate) async fn forget(&self, lock: &RecordLock, kept: Option<LogInRecord>) -> Result<(), LogInError> {
        let _storing = self.storing.lock().await;
        match kept {
            Some(kept) => self.storage.write(lock, &self.key, &kept).await.map(|()| {
                let kept = Some(Arc::new(kept));
                self.know(KnownLogIn::new(kept.clone(), kept));
            }),
            None => self.storage.delete(lock, &self.key).await.map(|()| self.know(KnownLogIn::new(None, None))),
        }
    }

    pub(super) fn set_awaited(&self) {
        *self.awaited_until.lock() = Some(Instant::now() + AWAITED_TIME);
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.awaited_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Completes when there is another log-in than now. What has not been read yet is what is there now.
    pub(super) fn changed(&self) -> impl Future<Output = ()> + Send + '_ {
        let changed = self.known.load().loaded.then(|| self.other_than_known());
        async move {
            if let Some(changed) = changed {
                return changed.await;
            }
            if let Err(error) = self.load().await {
                tracing::debug!("an authorization cannot be read: {error}");
            }
            self.other_than_known().await;
        }
    }

    /// Completes when the log-in of this moment has ended, or when there is another one. What has not been read yet is what is
    /// there now.
    pub(super) fn replaced(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut current = self.current.subscribe();
        let is_read = self.known.load().loaded;
        let mut before = current.borrow_and_update().clone();
        async move {
            if !is_read && let Ok(read) = current.wait_for(Option::is_some).await {
                before.clone_from(&read);
            }
            if current.wait_for(|now| *now != before).await.is_err() {
                // Nobody can log in or out any more.
                std::future::pending().await
            }
        }
    }

    fn other_than_known(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut current = self.current.subscribe();
        let before = current.borrow_and_update().clone();
        async move {
            loop {
                {
                    let now = current.borrow_and_update();
                    if now.is_some() && *now != before {
                        return;
                    }
                }
                if current.changed().await.is_err() {
                    // Nobody can log in any more.
                    return std::future::pending().await;
                }
            }
        }
    }
}
