//! The files that one version of a script loads: each is read once, so that every run of it sees the same texts, whatever
//! happens on the disk meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ScriptError, Source};

/// By the path that was asked for; none where it could not be read.
#[derive(Debug, Default)]
pub struct Files(Mutex<BTreeMap<PathBuf, Option<Source>>>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Source>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, read now if nobody has read it yet.
    pub(super) fn read(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<Source, ScriptError>,
    ) -> Result<Source, ScriptError> {
        if let Some(Some(source)) = self.lock().get(path) {
            return Ok(source.clone());
        }
        let outcome = read();
        self.lock().insert(path.to_owned(), outcome.as_ref().ok().cloned());
        outcome
    }

    /// All that were asked for, also those that are not there.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.lock().keys().cloned().collect()
    }

    /// Those that read otherwise by now, or are there only now.
    pub(super) fn outdated(&self) -> Vec<PathBuf> {
        let outdated = |path: &Path, known: &Option<Source>| match known {
            Some(source) => !std::fs::read_to_string(path).is_ok_and(|text| *text == *source.text),
            None => path.exists(),
        };
        self.lock().iter().filter(|(path, known)| outdated(path, known)).map(|(path, _)| path.clone()).collect()
    }
}
