//! The files that one version of a script loads. Each is read once, so every run of that version sees the same texts
//! even if the files change meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use crate::ScriptError;
use crate::source::{Source, without_byte_order_mark};

/// By requested path; None for a file that could not be read.
#[derive(Debug, Default)]
pub struct Files(Mutex<BTreeMap<PathBuf, Option<Source>>>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Option<Source>>> {
        self.0.lock()
    }

    /// The file, read on first use.
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

    /// All requested paths, including those of missing files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.lock().keys().cloned().collect()
    }

    /// The files that have changed or appeared since they were requested.
    pub(super) fn outdated(&self) -> Vec<PathBuf> {
        let outdated = |path: &Path, known: &Option<Source>| match known {
            Some(source) => {
                !std::fs::read_to_string(path).is_ok_and(|text| *without_byte_order_mark(&text) == *source.text)
            }
            None => path.exists(),
        };
        self.lock().iter().filter(|(path, known)| outdated(path, known)).map(|(path, _)| path.clone()).collect()
    }
}
