//! Programs by their names.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that a name without `/` stands for: the first of that name in the folders of a `PATH` that can be executed.
pub fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file() && is_executable(file))
}

/// Whether anybody may execute this file.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}
