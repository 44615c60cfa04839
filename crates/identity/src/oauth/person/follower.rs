//! Notices log-ins that other processes store, such as `proxy login` while the proxy runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::person_log_in::{PersonLogIn, PersonLogIns};
use crate::oauth::storage::CredentialStorage;
use proxy_base::watch::{WatchedPaths, Watcher};

/// How often a store is asked that cannot be watched, while a server waits for a log-in.
const AWAITED_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is asked while none does: somebody may have logged out, or in with another account.
const IN_USE_INTERVAL: Duration = Duration::from_secs(30);

/// Follows the storage from the first time that a server uses or awaits a log-in. Most servers never do, and for them
/// nothing is watched.
#[derive(Debug)]
pub(crate) struct Follower {
    storage: CredentialStorage,
    log_ins: PersonLogIns,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Another log-in is awaited.
    awaited: Arc<Notify>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Follower {
    pub(crate) fn new(storage: &CredentialStorage, log_ins: &PersonLogIns) -> Arc<Self> {
        Arc::new(Follower {
            storage: storage.clone(),
            log_ins: Arc::clone(log_ins),
            task: Mutex::default(),
            awaited: Arc::default(),
        })
    }

    #[cfg(test)]
    pub(crate) fn is_running(&self) -> bool {
        self.task.lock().is_some()
    }

    /// Follows the storage from now on.
    pub(super) fn start(&self) {
        let mut task = self.task.lock();
        if task.is_some() {
            return;
        }
        let log_ins = Arc::clone(&self.log_ins);
        *task = match self.storage.folder() {
            Some(folder) => Some(tokio::spawn(watch(folder.to_owned(), log_ins))),
            None if self.storage.is_remote() => Some(tokio::spawn(poll(Arc::clone(&self.awaited), log_ins))),
            None => None,
        };
    }

    /// Follows the storage from now on, closely until there is another log-in than this one.
    pub(super) fn look_out(&self, log_in: &PersonLogIn) {
        log_in.set_awaited();
        self.start();
        self.awaited.notify_one();
    }
}

async fn watch(folder: PathBuf, log_ins: PersonLogIns) {
    let mut watcher = Watcher::default();
    loop {
        let mut paths = WatchedPaths::default();
        paths.folder(&folder);
        // Also when the folder was made just now: what happened before it was watched is not reported.
        if watcher.look_at(paths).await {
            take_up(&log_ins).await;
        }
        watcher.changed().await;
        take_up(&log_ins).await;
    }
}

async fn poll(awaited: Arc<Notify>, log_ins: PersonLogIns) {
    let mut last_of_all = Instant::now();
    loop {
        let last = Instant::now();
        loop {
            let is_awaited = log_ins.lock().values().any(|log_in| log_in.is_awaited());
            let next_of_all = last_of_all + IN_USE_INTERVAL;
            let next = if is_awaited { next_of_all.min(last + AWAITED_INTERVAL) } else { next_of_all };
            tokio::select! {
                () = tokio::time::sleep_until(next) => break,
                () = awaited.notified() => {}
            }
        }
        let is_for_all = last_of_all.elapsed() >= IN_USE_INTERVAL;
        if is_for_all {
            last_of_all = Instant::now();
        }
        take_up_of(&log_ins, |log_in| is_for_all || log_in.is_awaited()).await;
    }
}

async fn take_up(log_ins: &PersonLogIns) {
    take_up_of(log_ins, |_| true).await;
}

async fn take_up_of(log_ins: &PersonLogIns, which: impl Fn(&PersonLogIn) -> bool) {
    let all: Vec<Arc<PersonLogIn>> = log_ins.lock().values().filter(|log_in| which(log_in)).cloned().collect();
    for log_in in all {
        if let Err(error) = log_in.take_up().await {
            tracing::debug!("an authorization cannot be read: {error}");
        }
    }
}
