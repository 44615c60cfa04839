//! The folder of the control sockets, which only the user can access.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const NAME: &str = "starlark-mcp-proxy";

/// The folder of the sockets: in the user's runtime folder, or else in the folder for temporary files.
pub fn folder(runtime: Option<&Path>, temporary: &Path) -> PathBuf {
    match runtime {
        Some(runtime) => runtime.join(NAME),
        None => temporary.join(format!("{NAME}-{}", rustix::process::getuid().as_raw())),
    }
}

/// Creates the folder and checks its owner and mode: in a shared folder another user may have created it first.
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
    let reason = format!("other users can access the folder `{}`", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}
