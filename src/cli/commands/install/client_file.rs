//! A file of a client: read and replaced as a whole, where a link leads to.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use proxy_base::diagnostic::Diagnostic;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

#[derive(Debug)]
pub(super) struct ClientTarget {
    /// The file itself, behind all links.
    pub(super) path: PathBuf,
    /// `None` if there is no file.
    pub(super) bytes: Option<Vec<u8>>,
}

impl ClientTarget {
    pub(super) fn read(path: &Path) -> Result<ClientTarget, Diagnostic> {
        let failed = |error: io::Error| Diagnostic::error(format!("cannot read `{}`: {error}", path.display()));
        let target = behind_links(path).map_err(failed)?;
        match target.metadata() {
            Ok(data) if !data.is_file() => {
                Err(Diagnostic::error(format!("`{}` is not a regular file", path.display())))
            }
            Ok(_) => Ok(ClientTarget { bytes: Some(std::fs::read(&target).map_err(failed)?), path: target }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(ClientTarget { path: target, bytes: None }),
            Err(error) => Err(failed(error)),
        }
    }

    /// The text; empty if there is no file.
    pub(super) fn text(&self) -> Result<&str, Diagnostic> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| {
            let problem = Diagnostic::error(format!("`{}` is not UTF-8 text", self.path.display()));
            problem.hint("save it as UTF-8 in an editor")
        })
    }

    /// Replaces the file with mode and owner kept, if it is still as it was read. Makes its folder if there is none, and
    /// returns the folders made.
    pub(super) fn replace(&self, text: &[u8]) -> Result<Vec<PathBuf>, Diagnostic> {
        self.replace_as(text, false)
    }

    /// The same, and then only the user may read it.
    pub(super) fn replace_privately(&self, text: &[u8]) -> Result<Vec<PathBuf>, Diagnostic> {
        self.replace_as(text, true)
    }

    fn replace_as(&self, text: &[u8], is_private: bool) -> Result<Vec<PathBuf>, Diagnostic> {
        self.refuse_changed()?;
        let made = make_folders(&self.path).map_err(|error| self.failed("make the folder of", &error))?;
        let written = write(&self.path, text, is_private);
        if written.is_err() {
            remove_folders(&made);
        }
        written.map(|()| made).map_err(|error| self.failed("write", &error))
    }

    pub(super) fn remove(&self) -> Result<(), Diagnostic> {
        self.refuse_changed()?;
        std::fs::remove_file(&self.path).map_err(|error| self.failed("remove", &error))
    }

    fn refuse_changed(&self) -> Result<(), Diagnostic> {
        let now = match std::fs::read(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(self.failed("read", &error)),
        };
        if now == self.bytes {
            return Ok(());
        }
        let problem = format!("`{}` was changed meanwhile, so nothing was written", self.path.display());
        Err(Diagnostic::error(problem).hint("run the command again to see the new changes"))
    }

    fn failed(&self, what: &str, error: &io::Error) -> Diagnostic {
        let problem = Diagnostic::error(format!("cannot {what} `{}`: {error}", self.path.display()));
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                problem.hint("make the file and its folder writable, or change the file by hand as `--dry-run` shows")
            }
            _ => problem.hint("the file is as it was"),
        }
    }
}

/// The path that a chain of links leads to, also if there is nothing yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match path.read_link() {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

fn write(path: &Path, text: &[u8], is_private: bool) -> io::Result<()> {
    let before = path.metadata().ok();
    // Beside the file, because only within one file system is a rename atomic.
    let new = path.with_added_extension(format!("{}.tmp", std::process::id()));
    let written = make(&new, is_private || before.is_some()).and_then(|mut file| {
        file.write_all(text)?;
        if let Some(before) = before {
            // Root may change the file of somebody else.
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                fchown(&file, Some(before.uid()), Some(before.gid()))?;
            }
            let mode = if is_private { 0o600 } else { before.mode() & 0o7777 };
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        std::fs::rename(&new, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// Until it has the mode of the file it replaces, only the user may read it.
fn make(path: &Path, is_private: bool) -> io::Result<File> {
    let mode = if is_private { 0o600 } else { 0o666 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Makes the folders above a file. Returns those that were not there, the outermost first.
fn make_folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
    let mut made: Vec<PathBuf> = Vec::new();
    for folder in missing.into_iter().rev() {
        if let Err(error) = std::fs::create_dir(folder) {
            remove_folders(&made);
            return Err(error);
        }
        made.push(folder.to_owned());
    }
    Ok(made)
}

/// Removes folders that were made, unless something else is in them now.
pub(super) fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        let _ = std::fs::remove_dir(folder);
    }
}
