//! Looks up programs by name.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Resolves a name without `/`: the first executable file with this name in the folders of a `PATH`.
pub fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file() && is_executable(file))
}

/// Whether anybody may execute this file.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}
