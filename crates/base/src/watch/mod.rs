//! Watches files for changes. All events of one save are one change, however the editor saves.

mod links;
mod stamp;
mod watched_paths;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use stamp::{FileStamp, StampedFile};
pub use watched_paths::WatchedPaths;

/// A save is complete when no event has arrived for this long.
const DEBOUNCE: Duration = Duration::from_millis(40);
/// Delay if a file has become empty or vanished, which means that an editor is about to write it.
const PARTIAL_SAVE_DELAY: Duration = Duration::from_millis(200);
/// Maximum delay of a change. If a save takes longer, its end is another change.
const MAX_DELAY: Duration = Duration::from_millis(250);
/// How often the watched folders are compared with those at their paths. A folder does not report that one further up was
/// replaced.
const FOLDER_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Interval of polling on systems without change notifications.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Device and inode of a folder. One that was deleted and created again usually has another identity, but the file system
/// may also use the same inode again.
type FolderIdentity = (u64, u64);

/// A watcher of files. It watches their folders, because a file that is replaced by a rename has another inode.
pub struct Watcher {
    /// `None` if the system has no change notifications, or no capacity for another watcher.
    system: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, FolderIdentity>,
    /// The folders that contain the paths, whether they can be watched or not.
    folders: Arc<ArcSwap<BTreeSet<PathBuf>>>,
    /// Whether one of them was deleted, and its watch with it.
    lost_folder: Arc<AtomicBool>,
    paths: Arc<ArcSwap<WatchedPaths>>,
    events: Arc<Notify>,
    /// Time of the first event of a change that has not been reported yet.
    pending_since: Option<Instant>,
    /// The files that were not empty when they were last checked.
    non_empty_files: BTreeSet<PathBuf>,
}

impl Default for Watcher {
    fn default() -> Self {
        let (paths, events) = (Arc::new(ArcSwap::<WatchedPaths>::default()), Arc::new(Notify::new()));
        let lost_folder = Arc::new(AtomicBool::new(false));
        let folders = Arc::new(ArcSwap::<BTreeSet<PathBuf>>::default());
        let (interest, notify) = (Arc::clone(&paths), Arc::clone(&events));
        let (watched, lost) = (Arc::clone(&folders), Arc::clone(&lost_folder));
        let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().is_ok_and(|event| removes_one(event, &watched.load())) {
                lost.store(true, Ordering::SeqCst);
            }
            if event.map_or(true, |event| is_relevant(&event, &interest.load())) {
                notify.notify_one();
            }
        });
        let system = system.inspect_err(
            |error| tracing::warn!(%error, "no change notifications from the system; polling files instead"),
        );
        Watcher {
            system: system.ok(),
            watched: BTreeMap::new(),
            folders,
            lost_folder,
            paths,
            events,
            pending_since: None,
            non_empty_files: BTreeSet::new(),
        }
    }
}

/// Ignores read accesses and events of other files in the same folders.
fn is_relevant(event: &Event, paths: &WatchedPaths) -> bool {
    let write = notify::event::AccessKind::Close(notify::event::AccessMode::Write);
    match event.kind {
        EventKind::Access(kind) if kind != write => false,
        _ => event.need_rescan() || event.paths.iter().any(|path| paths.concerns(path)),
    }
}

/// Whether one of these folders was deleted.
fn removes_one(event: &Event, folders: &BTreeSet<PathBuf>) -> bool {
    event.kind.is_remove() && event.paths.iter().any(|path| folders.contains(path))
}

impl Watcher {
    /// Watches these paths from now on. Returns true if one of them is new: a change before that was missed, so the caller
    /// has to check the files once more.
    pub fn look_at(&mut self, paths: WatchedPaths) -> bool {
        let paths = paths.with_links();
        self.non_empty_files = paths.files().filter(|file| !is_empty(file)).map(Path::to_owned).collect();
        let folders = paths.folders();
        // Also in a folder that is watched already: the event of a file that was not among the paths was ignored.
        let mut added = paths.has_more_than(&self.paths.load());
        self.paths.store(Arc::new(paths));
        self.folders.store(Arc::new(folders.clone()));
        let Some(system) = &mut self.system else { return false };
        let is_gone = |folder: &PathBuf| !folders.contains(folder);
        // A folder and a link to it share one watch of the system, which ends with either of them: all begin anew.
        if self.lost_folder.swap(false, Ordering::SeqCst) || self.watched.keys().any(is_gone) {
            for folder in std::mem::take(&mut self.watched).into_keys() {
                let _ = system.unwatch(&folder);
            }
        }
        for folder in folders {
            let Some(identity) = identity(&folder) else { continue };
            if self.watched.get(&folder) == Some(&identity) {
                continue;
            }
            // If another folder had this path before, remove its watch.
            let _ = system.unwatch(&folder);
            match system.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder, identity);
                    added = true;
                }
                Err(error) => {
                    self.watched.remove(&folder);
                    tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder; changes in it will be missed");
                }
            }
        }
        added
    }

    /// Waits for a change and for the end of the save. Cancel-safe: a dropped wait loses no change.
    pub async fn changed(&mut self) {
        if self.system.is_none() {
            return tokio::time::sleep(POLL_INTERVAL).await;
        }
        while self.pending_since.is_none() {
            tokio::select! {
                () = self.events.notified() => break,
                () = tokio::time::sleep(FOLDER_CHECK_INTERVAL) => if self.is_elsewhere() {
                    break;
                },
            }
        }
        let first = *self.pending_since.get_or_insert_with(Instant::now);
        loop {
            let complete = completion(first, Instant::now(), self.is_partially_saved());
            tokio::select! {
                () = self.events.notified() => {}
                () = tokio::time::sleep_until(complete) => break,
            }
        }
        self.pending_since = None;
    }

    /// Whether another folder, or none, is at the path of a watched one.
    fn is_elsewhere(&self) -> bool {
        self.watched.iter().any(|(folder, watched)| identity(folder) != Some(*watched))
    }

    fn is_partially_saved(&self) -> bool {
        self.non_empty_files.iter().any(|file| is_empty(file))
    }
}

/// When a save counts as complete, given its first and its latest event, unless there is another one before that.
fn completion(first: Instant, latest: Instant, partially_saved: bool) -> Instant {
    let delay = if partially_saved { PARTIAL_SAVE_DELAY } else { DEBOUNCE };
    (latest + delay).min(first + MAX_DELAY)
}

fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).map_or(true, |data| data.is_file() && data.len() == 0)
}

fn identity(folder: &Path) -> Option<FolderIdentity> {
    let data = std::fs::metadata(folder).ok()?;
    data.is_dir().then(|| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests;
