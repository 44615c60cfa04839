//! The followers of one resource.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::follower::{CurrentSurface, FollowedKey, ResourceFollower, Seen};
use crate::surface::UpdateSource;
use proxy_base::watch::FileStamp;
use proxy_mcp_client::{Subscriber, UpdateListener};
use proxy_model::Owner;

/// The files that a refresh loaded, with the versions that it saw.
pub(super) type LoadedFiles = BTreeMap<PathBuf, FileStamp>;

pub(super) struct FollowerGroup {
    pub(super) key: FollowedKey,
    state: Mutex<GroupState>,
    wake: Notify,
}

#[derive(Default)]
struct GroupState {
    followers: IndexMap<u64, ResourceFollower>,
    /// When the next refresh is due; `None` if that is not known, because nothing was refreshed.
    next: Option<Instant>,
    /// Whether a file has changed, so that a refresh is due now.
    is_outdated: bool,
    files: LoadedFiles,
    task: Option<AbortHandle>,
}

/// A follower as a round of refreshes sees it.
pub(super) struct GroupMember {
    pub(super) id: u64,
    pub(super) uri: Arc<str>,
    pub(super) surface: CurrentSurface,
    pub(super) subscriber: Subscriber,
    pub(super) seen: Option<Seen>,
}

impl FollowerGroup {
    pub(super) fn new(key: FollowedKey) -> Self {
        FollowerGroup { key, state: Mutex::default(), wake: Notify::new() }
    }

    pub(super) fn add(&self, id: u64, follower: ResourceFollower) {
        self.state.lock().followers.insert(id, follower);
    }

    /// Removes a follower. Returns whether none is left.
    pub(super) fn remove(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let removed = state.followers.swap_remove(&id);
        let is_empty = state.followers.is_empty();
        drop(state);
        drop(removed);
        is_empty
    }

    /// Starts the task that refreshes, unless it runs.
    pub(super) fn start(&self, spawn: impl FnOnce() -> AbortHandle) {
        self.state.lock().task.get_or_insert_with(spawn);
    }

    pub(super) fn stop(&self) {
        if let Some(task) = self.state.lock().task.take() {
            task.abort();
        }
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// A file has changed that the last refresh loaded.
    pub(super) fn outdate(&self) {
        self.state.lock().is_outdated = true;
        self.wake();
    }

    /// Waits until there is something to do.
    pub(super) async fn next_round(&self) {
        let next = self.state.lock().next;
        let due = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.wake.notified() => {}
            () = due => {}
        }
    }

    /// Whether everybody's resource has to be refreshed now, and whether that is because of a file.
    pub(super) fn begin_round(&self) -> (bool, bool) {
        let mut state = self.state.lock();
        let is_outdated = std::mem::take(&mut state.is_outdated);
        let is_due = state.next.is_none_or(|next| Instant::now() >= next);
        (is_due || is_outdated, is_outdated)
    }

    /// The followers, or only those without a result.
    pub(super) fn members(&self, all: bool) -> Vec<GroupMember> {
        let state = self.state.lock();
        let wanted = state.followers.iter().filter(|(_, follower)| all || follower.seen.is_none());
        let member = |(id, follower): (&u64, &ResourceFollower)| GroupMember {
            id: *id,
            uri: Arc::clone(&follower.uri),
            surface: Arc::clone(&follower.surface),
            subscriber: follower.subscriber.clone(),
            seen: follower.seen.clone(),
        };
        wanted.map(member).collect()
    }

    /// Gives a new follower a result that another one has from the last refresh. Returns whether there is one.
    pub(super) fn adopt(&self, id: u64, run: u64, owner: &Owner) -> bool {
        let mut state = self.state.lock();
        let known = state.followers.values().filter_map(|follower| follower.seen.as_ref());
        let Some(seen) = known.filter(|seen| seen.is_for(run, owner)).max_by_key(|seen| seen.at).cloned() else {
            return false;
        };
        if let Some(follower) = state.followers.get_mut(&id) {
            follower.seen = Some(seen);
            follower.settle();
        }
        true
    }

    /// The follower cannot have a result now, so it no longer waits for the first one.
    pub(super) fn settle(&self, id: u64) {
        if let Some(follower) = self.state.lock().followers.get_mut(&id) {
            follower.settle();
        }
    }

    /// The subscription was confirmed before there was a result, so the first result is reported as a change.
    pub(super) fn tell_first_result(&self, id: u64) {
        if let Some(follower) = self.state.lock().followers.get_mut(&id)
            && follower.seen.is_none()
        {
            follower.tells_first = true;
        }
    }

    /// Notes the outcome of a refresh, and notifies the followers for whom it is a change.
    pub(super) fn note(&self, ids: impl Iterator<Item = u64>, seen: &Seen) {
        let told: Vec<(UpdateListener, Arc<str>)> = {
            let mut state = self.state.lock();
            let mut told = Vec::new();
            for id in ids {
                if let Some(follower) = state.followers.get_mut(&id)
                    && follower.note(seen.clone())
                {
                    told.push((Arc::clone(&follower.listener), Arc::clone(&follower.uri)));
                }
            }
            told
        };
        for (listener, uri) in told {
            match &self.key.source {
                UpdateSource::Backend { original, .. } => listener(original),
                UpdateSource::Script => listener(&uri),
            }
        }
    }

    /// Ends a round: when the next one is due, and the files that this one loaded. What a round of only some followers did not
    /// look at stays. Returns the files to watch.
    pub(super) fn end_round(&self, is_whole: bool, next: Option<Instant>, files: LoadedFiles) -> LoadedFiles {
        let mut state = self.state.lock();
        if is_whole {
            state.next = next;
            state.files = files;
        } else {
            state.next = [state.next, next].into_iter().flatten().min();
            state.files.extend(files);
        }
        state.files.clone()
    }

    /// The files that the last refresh loaded.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.state.lock().files.keys().cloned().collect()
    }
}
