//! Takes up what other processes store: a person logs in with `proxy login` while the proxy runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::person_log_in::PersonLogIn;
use crate::oauth::storage::{CredentialStorage, RecordKey};
use crate::watch::{WatchedPaths, Watcher};

/// How often a store is asked that cannot be watched, while somebody waits.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) type PersonLogIns = Arc<Mutex<HashMap<RecordKey, Arc<PersonLogIn>>>>;

/// A task that follows the storage from the first time that somebody cares.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    task: Mutex<Option<JoinHandle<()>>>,
    waiting: Arc<AtomicUsize>,
}

/// Somebody waits for another log-in.
#[derive(Debug)]
pub(crate) struct WaitingForLogIn(Arc<AtomicUsize>);

impl Drop for WaitingForLogIn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Follower {
    pub(crate) fn waiting(&self) -> WaitingForLogIn {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingForLogIn(Arc::clone(&self.waiting))
    }

    pub(crate) fn start(&self, storage: &CredentialStorage, log_ins: &PersonLogIns) {
        let mut task = self.task.lock();
        if task.is_some() {
            return;
        }
        let log_ins = Arc::clone(log_ins);
        *task = match storage.folder() {
            Some(folder) => Some(tokio::spawn(watch(folder.to_owned(), log_ins))),
            None if storage.is_remote() => Some(tokio::spawn(poll(Arc::clone(&self.waiting), log_ins))),
            None => None,
        };
    }
}

async fn watch(folder: PathBuf, log_ins: PersonLogIns) {
    let mut watcher = Watcher::default();
    loop {
        let mut paths = WatchedPaths::default();
        paths.folder(&folder);
        // Also when the folder was made just now: what happened before it was watched is not reported.
        if watcher.look_at(paths) {
            take_up(&log_ins).await;
        }
        watcher.changed().await;
        take_up(&log_ins).await;
    }
}

async fn poll(waiting: Arc<AtomicUsize>, log_ins: PersonLogIns) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if waiting.load(Ordering::Relaxed) > 0 {
            take_up(&log_ins).await;
        }
    }
}

async fn take_up(log_ins: &PersonLogIns) {
    let all: Vec<Arc<PersonLogIn>> = log_ins.lock().values().cloned().collect();
    for log_in in all {
        if let Err(error) = log_in.take_up().await {
            tracing::debug!("a log-in cannot be read: {error}");
        }
    }
}
