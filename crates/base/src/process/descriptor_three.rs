//! A pipe that a child process finds as its descriptor 3.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::io::fcntl_dupfd_cloexec;
use tokio::net::unix::pipe;

/// The descriptor that the child writes to.
pub(super) const NUMBER: RawFd = 3;

/// Both ends of the pipe, before the child is started.
#[derive(Debug)]
pub struct DescriptorThree {
    read: OwnedFd,
    /// Never descriptor 3 itself, because the child's copy must not be closed by `exec`.
    write: OwnedFd,
    /// Occupies descriptor 3 of this process until the child is started: `spawn` reports errors of the child through a
    /// pipe of its own, and the child's side of that pipe must not have this number.
    _placeholders: [OwnedFd; 2],
}

impl DescriptorThree {
    pub fn open() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let first = OwnedFd::from(writer);
        let write = fcntl_dupfd_cloexec(&first, NUMBER + 1)?;
        let second = fcntl_dupfd_cloexec(&first, NUMBER)?;
        Ok(DescriptorThree { read: reader.into(), write, _placeholders: [first, second] })
    }

    /// The end for the child, to be duplicated between fork and exec.
    pub(super) fn write_end(&self) -> RawFd {
        self.write.as_raw_fd()
    }

    /// Closes the end of the child in this process and returns the other end.
    pub fn into_reader(self) -> io::Result<pipe::Receiver> {
        pipe::Receiver::from_owned_fd(self.read)
    }
}
