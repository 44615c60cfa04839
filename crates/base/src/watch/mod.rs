//! Watches files for changes. All events of one save are one change, however the editor saves.

mod links;
mod stamp;
mod watched_folders;
mod watched_paths;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use stamp::{FileStamp, StampedFile, stamps};
use watched_folders::WatchedFolders;
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

/// A watcher of files. Whatever asks the file system runs on threads that may wait for it: one over a network that does not
/// answer any more holds up nothing but this watcher.
pub struct Watcher {
    folders: Arc<Mutex<WatchedFolders>>,
    has_system: bool,
    events: Arc<Notify>,
    /// Time of the first event of a change that has not been reported yet.
    pending_since: Option<Instant>,
    /// The last question to the file system. It may wait for the answer although nobody else does any more.
    asking: Option<JoinHandle<()>>,
}

impl Default for Watcher {
    fn default() -> Self {
        let events = Arc::new(Notify::new());
        let folders = WatchedFolders::new(&events);
        let has_system = folders.has_system();
        let folders = Arc::new(Mutex::new(folders));
        Watcher { folders, has_system, events, pending_since: None, asking: None }
    }
}

impl Watcher {
    /// Watches these paths from now on. Returns true if one of them is new: a change before that was missed, so the caller
    /// has to check the files once more.
    pub async fn look_at(&mut self, paths: WatchedPaths) -> bool {
        self.ask(move |folders| folders.look_at(paths)).await
    }

    /// Waits for a change and for the end of the save. Cancel-safe: a dropped wait loses no change.
    pub async fn changed(&mut self) {
        if !self.has_system {
            return tokio::time::sleep(POLL_INTERVAL).await;
        }
        let events = Arc::clone(&self.events);
        while self.pending_since.is_none() {
            tokio::select! {
                () = events.notified() => break,
                is_elsewhere = self.is_elsewhere_after(FOLDER_CHECK_INTERVAL) => if is_elsewhere {
                    break;
                },
            }
        }
        let first = *self.pending_since.get_or_insert_with(Instant::now);
        loop {
            let latest = Instant::now();
            let is_partially_saved = self.ask(|folders| folders.is_partially_saved()).await;
            tokio::select! {
                () = events.notified() => {}
                () = tokio::time::sleep_until(completion(first, latest, is_partially_saved)) => break,
            }
        }
        self.pending_since = None;
    }

    async fn is_elsewhere_after(&mut self, delay: Duration) -> bool {
        tokio::time::sleep(delay).await;
        self.ask(|folders| folders.is_elsewhere()).await
    }

    /// Asks the file system something. One question waits at a time, even if nobody waits for its answer.
    async fn ask<T: Default + Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut WatchedFolders) -> T + Send + 'static,
    ) -> T {
        if let Some(before) = &mut self.asking {
            // It fails only if it has panicked, which was reported.
            let _ = before.await;
        }
        let folders = Arc::clone(&self.folders);
        let (sender, answer) = oneshot::channel();
        self.asking = Some(tokio::task::spawn_blocking(move || {
            let _ = sender.send(question(&mut folders.lock()));
        }));
        answer.await.unwrap_or_default()
    }
}

/// When a save counts as complete, given its first and its latest event, unless there is another one before that.
fn completion(first: Instant, latest: Instant, partially_saved: bool) -> Instant {
    let delay = if partially_saved { PARTIAL_SAVE_DELAY } else { DEBOUNCE };
    (latest + delay).min(first + MAX_DELAY)
}

#[cfg(test)]
mod tests;
