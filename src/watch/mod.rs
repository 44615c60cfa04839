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
const QUIET: Duration = Duration::from_millis(40);
/// A file that is suddenly empty or gone is about to be written.
const HALF_SAVED: Duration = Duration::from_millis(200);
/// Nobody saves longer than that: what is there then is looked at, and again when the rest has come.
const LONGEST: Duration = Duration::from_millis(250);
/// Between two looks, where the system tells nothing.
const POLL: Duration = Duration::from_secs(1);

/// A folder's device and number: one that was made again is another one.
type Identity = (u64, u64);

/// Looks at folders, because a file that is replaced is another file.
pub struct Watcher {
    /// None where the system has no way to tell, or no room for another watcher.
    system: Option<RecommendedWatcher>,
    placed: BTreeMap<PathBuf, Identity>,
    wanted: Arc<ArcSwap<Wanted>>,
    events: Arc<Notify>,
    /// When a change began that nobody has been told of yet.
    began: Option<Instant>,
    /// The files that had something in them when they were last looked at.
    full: BTreeSet<PathBuf>,
}

impl Default for Watcher {
    fn default() -> Self {
        let (wanted, events) = (Arc::new(ArcSwap::<Wanted>::default()), Arc::new(Notify::new()));
        let (interest, told) = (Arc::clone(&wanted), Arc::clone(&events));
        let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| matters(&event, &interest.load())) {
                told.notify_one();
            }
        });
        let system = system.inspect_err(|error| tracing::warn!(%error, "changes of files are found by looking only"));
        Watcher { system: system.ok(), placed: BTreeMap::new(), wanted, events, began: None, full: BTreeSet::new() }
    }
}

/// Reading is no change, and neither is what happens to other files in the same folder.
fn matters(event: &Event, wanted: &Wanted) -> bool {
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
        self.full = wanted.files().filter(|file| !is_empty(file)).map(Path::to_owned).collect();
        let folders = wanted.folders();
        self.wanted.store(Arc::new(wanted));
        let Some(system) = &mut self.system else { return false };
        let gone: Vec<PathBuf> = self.placed.keys().filter(|folder| !folders.contains(*folder)).cloned().collect();
        for folder in gone {
            self.placed.remove(&folder);
            let _ = system.unwatch(&folder);
        }
        let mut news = false;
        for folder in folders {
            let Some(identity) = identity(&folder) else { continue };
            if self.placed.get(&folder) == Some(&identity) {
                continue;
            }
            // It may have been another folder of this name; then that one is watched no longer.
            let _ = system.unwatch(&folder);
            match system.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.placed.insert(folder, identity);
                    news = true;
                }
                Err(error) => {
                    self.placed.remove(&folder);
                    tracing::warn!(folder = %folder.display(), %error, "cannot watch a folder: changes in it are not seen");
                }
            }
        }
        news
    }

    /// Ends when something has changed and the save is over. Whoever stops waiting can wait again and misses nothing.
    pub async fn changed(&mut self) {
        if self.system.is_none() {
            return tokio::time::sleep(POLL).await;
        }
        if self.began.is_none() {
            self.events.notified().await;
        }
        let latest = *self.began.get_or_insert_with(Instant::now) + LONGEST;
        loop {
            let patience = if self.is_half_saved() { HALF_SAVED } else { QUIET };
            tokio::select! {
                () = self.events.notified() => {}
                () = tokio::time::sleep_until(latest.min(Instant::now() + patience)) => break,
            }
        }
        self.began = None;
    }

    fn is_half_saved(&self) -> bool {
        self.full.iter().any(|file| is_empty(file))
    }
}

fn is_empty(file: &Path) -> bool {
    std::fs::metadata(file).map_or(true, |data| data.is_file() && data.len() == 0)
}

fn identity(folder: &Path) -> Option<Identity> {
    let data = std::fs::metadata(folder).ok()?;
    data.is_dir().then(|| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests;
