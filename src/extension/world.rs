//! What the built-ins of one extension share: where it lies, what it may do, and the way to do it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use starlark::eval::Evaluator;

use super::Permissions;
use crate::host_io::{Folder, Reach};
use crate::script::{Context, ScriptError, script_error};

pub struct World {
    pub reach: Arc<Reach>,
    own: Folder,
    /// Known once the extension has described itself.
    granted: OnceLock<Granted>,
    early: Mutex<Early>,
}

struct Granted {
    permissions: Permissions,
    folder: Folder,
}

/// What was done before anybody knew what may be done.
#[derive(Default)]
struct Early {
    variables: BTreeSet<String>,
    files: Vec<PathBuf>,
}

impl fmt::Debug for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("World").field("permissions", self.permissions()).finish_non_exhaustive()
    }
}

impl World {
    /// For a file in this folder; none for what is no file.
    pub fn new(reach: Arc<Reach>, folder: Option<&Path>) -> Self {
        World { reach, own: Folder::new(folder), granted: OnceLock::new(), early: Mutex::default() }
    }

    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a World> {
        Context::of(evaluator)?.world().ok_or_else(|| script_error("this function works in extensions only"))
    }

    /// Makes the declared permissions those that hold from now on. What was done so far must be within them.
    pub fn grant(&self, permissions: Permissions) -> Result<(), ScriptError> {
        let folder = self.own.clone().with(&permissions.paths).map_err(ScriptError::new)?;
        if let Some(name) = self.early().variables.iter().find(|name| !permissions.may_read_variable(name)) {
            return Err(undeclared(name));
        }
        // A second description of one world changes nothing.
        let _ = self.granted.set(Granted { permissions, folder });
        Ok(())
    }

    pub fn permissions(&self) -> &Permissions {
        static NONE_YET: LazyLock<Permissions> = LazyLock::new(Permissions::default);
        self.declared().unwrap_or(&NONE_YET)
    }

    /// What it says that it does; nothing at its top level, and where there is no extension at all.
    pub fn declared(&self) -> Option<&Permissions> {
        self.granted.get().map(|granted| &granted.permissions)
    }

    /// The folders it may use files of; at the top level its own only.
    pub fn folder(&self) -> &Folder {
        self.granted.get().map_or(&self.own, |granted| &granted.folder)
    }

    pub fn variable(&self, name: &str) -> Result<Option<&str>, ScriptError> {
        match self.granted.get() {
            Some(granted) if !granted.permissions.may_read_variable(name) => return Err(undeclared(name)),
            Some(_) => {}
            None => {
                self.early().variables.insert(name.to_owned());
            }
        }
        Ok(self.reach.variable(name))
    }

    /// Notes a file that the extension was made from, to be watched with it.
    pub fn note(&self, file: PathBuf) {
        if self.granted.get().is_none() {
            self.early().files.push(file);
        }
    }

    /// The files noted so far.
    pub fn noted(&self) -> Vec<PathBuf> {
        self.early().files.clone()
    }

    fn early(&self) -> MutexGuard<'_, Early> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn undeclared(name: &str) -> ScriptError {
    ScriptError::new(format!("the variable `{name}` is not in `allowed_env` of the extension"))
        .hint(format!("add \"{name}\" to `allowed_env` of Extension()"))
}
