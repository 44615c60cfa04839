//! A file or folder that is opened before it is checked, so that it stays the checked one even if its name is reused.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

#[derive(Debug)]
pub struct OpenPath {
    descriptor: File,
    /// Where it lies, without links.
    path: PathBuf,
}

/// Opens without any right to read or write: what a name leads to may be a pipe or a device.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::NONBLOCK;

impl OpenPath {
    /// Opens a file or folder that exists; follows links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let descriptor = rustix::fs::open(path, LOOK | OFlags::CLOEXEC, Mode::empty())?;
        Self::new(descriptor)
    }

    /// Creates a file in this folder. Fails if there is anything of that name, even a link that leads nowhere.
    pub(super) fn create(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        drop(openat(&self.descriptor, name, flags, Mode::from_raw_mode(0o666))?);
        // Without rights from now on: closing a descriptor that can read gives up all locks that this process has on the file.
        Self::new(openat(&self.descriptor, name, LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let path = place(&descriptor)?;
        Ok(OpenPath { descriptor: File::from(descriptor), path })
    }

    /// Where it lay when it was opened, without links. For what only takes names.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.descriptor.metadata()
    }

    /// Reads the file, and at most one byte more than `most`.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.link())?.take(most + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A name for it that leads to nothing else while this is open, in this process and in a child that is being started.
    pub fn link(&self) -> PathBuf {
        if cfg!(target_os = "linux") {
            format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()).into()
        } else {
            self.path.clone()
        }
    }

    /// Whether the name still leads to this file.
    pub(super) fn is_still_there(&self) -> bool {
        let (Ok(own), Ok(named)) = (self.metadata(), self.path.symlink_metadata()) else { return false };
        (own.dev(), own.ino()) == (named.dev(), named.ino())
    }
}

#[cfg(target_os = "linux")]
fn place(descriptor: impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn place(descriptor: impl AsFd) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(descriptor)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}
