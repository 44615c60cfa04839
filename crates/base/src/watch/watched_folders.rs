//! The folders of the watched paths. Everything here may wait for the file system.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use super::watched_paths::WatchedPaths;

/// Device and inode of a folder. One that was deleted and created again usually has another identity, but the file system
/// may also use the same inode again.
type FolderIdentity = (u64, u64);

/// Folders are watched, because a file that is replaced by a rename has another inode.
pub(super) struct WatchedFolders {
    /// `None` if the system has no change notifications, or no capacity for another watcher.
    system: Option<RecommendedWatcher>,
    pub(super) watched: BTreeMap<PathBuf, FolderIdentity>,
    /// The folders that contain the paths, whether they can be watched or not.
    folders: Arc<ArcSwap<BTreeSet<PathBuf>>>,
    /// Whether one of them was deleted, and its watch with it.
    lost_folder: Arc<AtomicBool>,
    paths: Arc<ArcSwap<WatchedPaths>>,
    /// The files that were not empty when they were last checked.
    non_empty_files: BTreeSet<PathBuf>,
}

impl WatchedFolders {
    /// Every event of a watched path notifies `events`.
    pub(super) fn new(events: &Arc<Notify>) -> Self {
        let paths = Arc::new(ArcSwap::<WatchedPaths>::default());
        let lost_folder = Arc::new(AtomicBool::new(false));
        let folders = Arc::new(ArcSwap::<BTreeSet<PathBuf>>::default());
        let (interest, notify) = (Arc::clone(&paths), Arc::clone(events));
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
        WatchedFolders {
            system: system.ok(),
            watched: BTreeMap::new(),
            folders,
            lost_folder,
            paths,
            non_empty_files: BTreeSet::new(),
        }
    }

    /// Whether the system reports changes.
    pub(super) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    /// Watches these paths from now on. Returns true if one of them is new.
    pub(super) fn look_at(&mut self, paths: WatchedPaths) -> bool {
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

    /// Whether another folder, or none, is at the path of a watched one.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.watched.iter().any(|(folder, watched)| identity(folder) != Some(*watched))
    }

    pub(super) fn is_partially_saved(&self) -> bool {
        self.non_empty_files.iter().any(|file| is_empty(file))
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

fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).map_or(true, |data| data.is_file() && data.len() == 0)
}

fn identity(folder: &Path) -> Option<FolderIdentity> {
    let data = std::fs::metadata(folder).ok()?;
    data.is_dir().then(|| (data.dev(), data.ino()))
}
