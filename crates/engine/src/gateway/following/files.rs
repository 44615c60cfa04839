//! Watches the files that followed resources depend on, with one watcher for all of them; with none if there are no such
//! files.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::follower::FollowedKey;
use super::group::{FollowerGroup, LoadedFiles};
use proxy_base::watch::{WatchedPaths, Watcher, stamps};

#[derive(Default)]
pub(super) struct FileWatch {
    state: Mutex<WatchState>,
    /// The set of files to watch has changed.
    replaced: Notify,
}

#[derive(Default)]
struct WatchState {
    groups: HashMap<FollowedKey, (Weak<FollowerGroup>, LoadedFiles)>,
    is_running: bool,
}

impl FileWatch {
    /// Watches the files of a group in place of those that it had.
    pub(super) fn set(self: &Arc<Self>, group: &Arc<FollowerGroup>, files: LoadedFiles) {
        let mut state = self.state.lock();
        let is_changed = match state.groups.get(&group.key) {
            Some((_, known)) => *known != files,
            None => !files.is_empty(),
        };
        if !is_changed {
            return;
        }
        match files.is_empty() {
            true => drop(state.groups.remove(&group.key)),
            false => drop(state.groups.insert(group.key.clone(), (Arc::downgrade(group), files))),
        }
        if !state.is_running && !state.groups.is_empty() {
            state.is_running = true;
            tokio::spawn(watch(Arc::clone(self)));
        }
        drop(state);
        self.replaced.notify_one();
    }

    pub(super) fn remove(&self, key: &FollowedKey) {
        if self.state.lock().groups.remove(key).is_some() {
            self.replaced.notify_one();
        }
    }

    /// The paths to watch. `None` if there are none left: the watcher ends.
    fn paths(&self) -> Option<WatchedPaths> {
        let mut state = self.state.lock();
        state.groups.retain(|_, (group, _)| group.strong_count() > 0);
        if state.groups.is_empty() {
            state.is_running = false;
            return None;
        }
        let mut paths = WatchedPaths::default();
        for path in state.groups.values().flat_map(|(_, files)| files.keys()) {
            paths.file(path);
        }
        Some(paths)
    }

    /// Requests a refresh of the resources whose files have changed since they were loaded.
    async fn outdate_changed(&self) {
        let groups: Vec<(Weak<FollowerGroup>, LoadedFiles)> = self.state.lock().groups.values().cloned().collect();
        for (group, loaded) in groups {
            let now = stamps(loaded.keys().cloned().collect()).await;
            let is_changed = now.iter().any(|(path, stamp)| loaded.get(path) != Some(stamp));
            if is_changed && let Some(group) = group.upgrade() {
                group.outdate();
            }
        }
    }
}

async fn watch(files: Arc<FileWatch>) {
    let mut watcher = Watcher::default();
    while let Some(paths) = files.paths() {
        if watcher.look_at(paths).await {
            // A change before this was missed.
            files.outdate_changed().await;
        }
        tokio::select! {
            () = watcher.changed() => files.outdate_changed().await,
            () = files.replaced.notified() => {}
        }
    }
}
