//! What the built-ins of one extension share: its folder, its permissions, and the I/O of the proxy.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use starlark::eval::Evaluator;

use super::Permissions;
use proxy_host_io::{Folder, HostIo};
use proxy_script::{Context, ScriptError, script_error};

/// The shared state of an extension's built-ins.
pub struct ExtensionRuntime {
    pub host_io: Arc<HostIo>,
    own_folder: Folder,
    /// Set once the extension has described itself.
    granted: OnceLock<Granted>,
    top_level: Mutex<TopLevelUses>,
}

struct Granted {
    permissions: Permissions,
    folder: Folder,
}

/// What the top level of the extension has used, before its permissions were known.
#[derive(Default)]
struct TopLevelUses {
    variables: BTreeSet<String>,
    files: Vec<PathBuf>,
}

impl fmt::Debug for ExtensionRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ExtensionRuntime").field("permissions", self.permissions()).finish_non_exhaustive()
    }
}

impl ExtensionRuntime {
    /// For an extension in this folder; None for one that is embedded in the binary.
    pub fn new(host_io: Arc<HostIo>, folder: Option<&Path>) -> Self {
        ExtensionRuntime {
            host_io,
            own_folder: Folder::new(folder),
            granted: OnceLock::new(),
            top_level: Mutex::default(),
        }
    }

    /// The runtime of the extension that an evaluator runs.
    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a ExtensionRuntime> {
        Context::of(evaluator)?.world().ok_or_else(|| script_error("this function works in extensions only"))
    }

    /// Puts the declared permissions into force. An error if the top level has used something outside of them.
    pub fn grant(&self, permissions: Permissions) -> Result<(), ScriptError> {
        let folder = self.own_folder.clone().with(&permissions.fixed_paths()?).map_err(ScriptError::new)?;
        if let Some(name) = self.top_level().variables.iter().find(|name| !permissions.may_read_variable(name)) {
            return Err(undeclared(name));
        }
        // Permissions are granted once; a second description changes nothing.
        let _ = self.granted.set(Granted { permissions, folder });
        Ok(())
    }

    /// The permissions in force: those that were declared, or none at the top level.
    pub fn permissions(&self) -> &Permissions {
        static NONE: LazyLock<Permissions> = LazyLock::new(Permissions::default);
        self.declared().unwrap_or(&NONE)
    }

    /// The declared permissions. None at the top level, and in a test that belongs to no extension.
    pub fn declared(&self) -> Option<&Permissions> {
        self.granted.get().map(|granted| &granted.permissions)
    }

    /// The folders whose files the extension may use. At the top level only its own.
    pub fn folder(&self) -> &Folder {
        self.granted.get().map_or(&self.own_folder, |granted| &granted.folder)
    }

    /// The value of an environment variable.
    pub fn variable(&self, name: &str) -> Result<Option<&str>, ScriptError> {
        match self.granted.get() {
            Some(granted) if !granted.permissions.may_read_variable(name) => return Err(undeclared(name)),
            Some(_) => {}
            None => {
                self.top_level().variables.insert(name.to_owned());
            }
        }
        Ok(self.host_io.variable(name))
    }

    /// Records a file that was read at the top level, so that the extension is reloaded when the file changes.
    pub fn record_file(&self, file: PathBuf) {
        if self.granted.get().is_none() {
            self.top_level().files.push(file);
        }
    }

    /// The files that were read at the top level.
    pub fn recorded_files(&self) -> Vec<PathBuf> {
        self.top_level().files.clone()
    }

    fn top_level(&self) -> MutexGuard<'_, TopLevelUses> {
        self.top_level.lock()
    }
}

fn undeclared(name: &str) -> ScriptError {
    ScriptError::new(format!("the variable `{name}` is not in `allowed_env` of the extension"))
        .hint(format!("add \"{name}\" to `allowed_env` of Extension()"))
}
