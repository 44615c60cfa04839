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
    check_private(folder)
}

/// Checks that the folder is the user's own and that nobody else can access it. What is in another's folder may pretend to
/// be a proxy of this user.
pub(super) fn check_private(folder: &Path) -> io::Result<()> {
    let data = std::fs::symlink_metadata(folder)?;
    let is_ours = data.is_dir() && data.uid() == rustix::process::getuid().as_raw();
    let reason = match (is_ours, data.mode() & 0o077) {
        (true, 0) => return Ok(()),
        (true, _) => format!("other users can access the folder `{}`", folder.display()),
        (false, _) => format!("`{}` is not a folder of this user", folder.display()),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}
