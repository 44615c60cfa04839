//! Where the sockets are: a folder that is the user's alone.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const NAME: &str = "starlark-mcp-proxy";

/// Below the user's runtime folder, or, without one, below the folder for temporary files.
pub fn folder(runtime: Option<&Path>, temporary: &Path) -> PathBuf {
    match runtime {
        Some(runtime) => runtime.join(NAME),
        None => temporary.join(format!("{NAME}-{}", rustix::process::getuid().as_raw())),
    }
}

/// Makes it, and makes sure of it: in a folder for everybody somebody else may have been faster.
pub(super) fn create_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let data = std::fs::symlink_metadata(folder)?;
    let ours = data.is_dir() && data.uid() == rustix::process::getuid().as_raw();
    if ours && data.mode() & 0o077 == 0 {
        return Ok(());
    }
    let reason = format!("others can reach the folder `{}`", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}
