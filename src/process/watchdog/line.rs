//! The line between the proxy and its watchdog: four bytes a record, a process group to remember or, negative, to
//! forget; zero ends the watchdog.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::SendFlags;

pub(super) const END: i32 = 0;

/// A lost record may cost an orphan, so there is a wait for room; a watchdog that is stopped must not stop the proxy.
const PATIENCE: Duration = Duration::from_millis(500);

/// Starts a watchdog at the other end of a new line.
pub(super) fn launch(executable: &Path) -> io::Result<(Child, Arc<UnixStream>)> {
    // Standard library sockets are closed on exec, so no server holds this one open.
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(PATIENCE))?;
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(&ours, true)?;
    let process = Command::new(executable)
        .arg(super::ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((process, Arc::new(ours)))
}

/// Sends one record; safe between fork and exec. If the watchdog is gone there is nobody to tell, and no signal: a
/// child on its way to its program would die of it.
pub(super) fn send(line: &UnixStream, number: i32) {
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    let _ = rustix::io::retry_on_intr(|| rustix::net::send(line, &number.to_le_bytes(), flags));
}

/// What came over the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Record(i32),
    /// Nothing for as long as was allowed.
    Quiet,
    /// The proxy is gone.
    Closed,
}

/// The watchdog's end. It keeps a part of a record over a wait.
pub(super) struct Receiver {
    line: UnixStream,
    record: [u8; 4],
    filled: usize,
}

impl Receiver {
    pub(super) fn new(line: UnixStream) -> Self {
        Receiver { line, record: [0; 4], filled: 0 }
    }

    /// The next event; without a limit it waits as long as it takes.
    pub(super) fn next(&mut self, limit: Option<Duration>) -> Event {
        // Zero would be refused.
        let limit = limit.map(|limit| limit.max(Duration::from_millis(1)));
        // Where it cannot be set, there is no look at the families in between.
        let _ = self.line.set_read_timeout(limit);
        loop {
            match self.line.read(&mut self.record[self.filled..]) {
                Ok(0) => return Event::Closed,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Event::Quiet;
                }
                Err(_) => return Event::Closed,
            }
            if self.filled == self.record.len() {
                self.filled = 0;
                return Event::Record(i32::from_le_bytes(self.record));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_may_come_in_parts() {
        use std::io::Write;
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut receiver = Receiver::new(theirs);
        let bytes = (-70_000i32).to_le_bytes();
        ours.write_all(&bytes[..3]).unwrap();
        assert_eq!(receiver.next(Some(Duration::ZERO)), Event::Quiet);
        ours.write_all(&bytes[3..]).unwrap();
        assert_eq!(receiver.next(None), Event::Record(-70_000));
        drop(ours);
        assert_eq!(receiver.next(None), Event::Closed);
    }
}
