//! Files on disk, and when they change: the events of one save are one change, however an editor saves.

mod links;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use wanted::Wanted;

/// A save is over when nothing has happened for so long.
const DEBOUNCE: Duration = Duration::from_millis(40);
/// A file that is suddenly empty or gone is about to be written.
const PARTIAL_SAVE_DELAY: Duration = Duration::from_millis(200);
/// Nobody saves longer than that: what is there then is looked at, and again when the rest has come.
const MAX_DELAY: Duration = Duration::from_millis(250);
/// Between two looks, where the system tells nothing.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A folder's device and number: one that was made again is another one.
type FolderIdentity = (u64, u64);

/// Looks at folders, because a file that is replaced is another file.
pub struct Watcher {
    /// None where the system has no way to tell, or no room for another watcher.
    system: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, FolderIdentity>,
    wanted: Arc<ArcSwap<Wanted>>,
    events: Arc<Notify>,
    /// When a change began that nobody has been told of yet.
    pending_since: Option<Instant>,
    /// The files that had something in them when they were last looked at.
    non_empty_files: BTreeSet<PathBuf>,
}

impl Default for Watcher {
    fn default() -> Self {
        let (wanted, events) = (Arc::new(ArcSwap::<Wanted>::default()), Arc::new(Notify::new()));
        let (interest, notify) = (Arc::clone(&wanted), Arc::clone(&events));
        let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| is_relevant(&event, &interest.load())) {
                notify.notify_one();
            }
        });
        let system = system.inspect_err(|error| tracing::warn!(%error, "changes of files are found by looking only"));
        Watcher {
            system: system.ok(),
            watched: BTreeMap::new(),
            wanted,
            events,
            pending_since: None,
            non_empty_files: BTreeSet::new(),
        }
    }
}

/// Reading is no change, and neither is what happens to other files in the same folder.
fn is_relevant(event: &Event, wanted: &Wanted) -> bool {
    let write = notify::event::AccessKind::Close(notify::event::AccessMode::Write);
    match event.kind {
        EventKind::Access(kind) if kind != write => false,
        _ => event.need_rescan() || event.paths.iter().any(|path| wanted.concerns(path)),
    }
}

impl Watcher {
    /// Looks at these from now on. Whether it looks somewhere it did not look before: what happened there meanwhile was
    /// not seen, so the caller looks once more.
    pub fn look_at(&mut self, wanted: Wanted) -> bool {
        let wanted = wanted.with_links();
        self.non_empty_files = wanted.files().filter(|file| !is_empty(file)).map(Path::to_owned).collect();
        let folders = wanted.folders();
        self.wanted.store(Arc::new(wanted));
        let Some(system) = &mut self.system else { return false };
        let gone: Vec<PathBuf> = self.watched.keys().filter(|folder| !folders.contains(*folder)).cloned().collect();
        for folder in gone {
            self.watched.remove(&folder);
            let _ = system.unwatch(&folder);
        }
        let mut added = false;
        for folder in folders {
            let Some(identity) = identity(&folder) else { continue };
            if self.watched.get(&folder) == Some(&identity) {
                continue;
            }
            // It may have been another folder of this name; then that one is watched no longer.
            let _ = system.unwatch(&folder);
            match system.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder, identity);
                    added = true;
                }
                Err(error) => {
                    self.watched.remove(&folder);
                    tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder: changes in it are not seen");
                }
            }
        }
        added
    }

    /// Ends when something has changed and the save is over. Whoever stops waiting can wait again and misses nothing.
    pub async fn changed(&mut self) {
        if self.system.is_none() {
            return tokio::time::sleep(POLL_INTERVAL).await;
        }
        if self.pending_since.is_none() {
            self.events.notified().await;
        }
        let latest = *self.pending_since.get_or_insert_with(Instant::now) + MAX_DELAY;
        loop {
            let delay = if self.is_partially_saved() { PARTIAL_SAVE_DELAY } else { DEBOUNCE };
            tokio::select! {
                () = self.events.notified() => {}
                () = tokio::time::sleep_until(latest.min(Instant::now() + delay)) => break,
            }
        }
        self.pending_since = None;
    }

    fn is_partially_saved(&self) -> bool {
        self.non_empty_files.iter().any(|file| is_empty(file))
    }
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
