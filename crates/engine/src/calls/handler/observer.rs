//! Tracks what a handler run depends on: whether its result is personal, and which files it loaded.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use proxy_base::watch::StampedFile;
use proxy_script::NotedFact;

/// Filled while a handler runs.
#[derive(Debug, Default)]
pub(in crate::calls) struct RunObserver {
    is_personal: AtomicBool,
    files: Mutex<BTreeSet<StampedFile>>,
}

impl RunObserver {
    pub(in crate::calls) fn note(&self, fact: &NotedFact) {
        match fact {
            NotedFact::CallerRead => self.note_personal(),
            NotedFact::FileLoaded(file) => drop(self.files.lock().insert(file.clone())),
            NotedFact::StateRead
            | NotedFact::RateLimited
            | NotedFact::CacheHit
            | NotedFact::Answered { .. }
            | NotedFact::Refused(_) => {}
        }
    }

    /// The result may differ for another caller.
    pub(in crate::calls) fn note_personal(&self) {
        self.is_personal.store(true, Ordering::Relaxed);
    }

    pub(in crate::calls) fn is_personal(&self) -> bool {
        self.is_personal.load(Ordering::Relaxed)
    }

    pub(in crate::calls) fn take_files(&self) -> BTreeSet<StampedFile> {
        std::mem::take(&mut self.files.lock())
    }
}
