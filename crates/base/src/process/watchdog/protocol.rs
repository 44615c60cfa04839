//! The protocol between the proxy and its watchdog over a Unix socket. A record is four bytes: a process group to
//! remember or, negative, to forget; zero ends the watchdog.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::SendFlags;

pub(super) const END: i32 = 0;

/// A lost record may leave an orphan, so writes wait for space in the socket buffer. The limit keeps a suspended
/// watchdog from blocking the proxy.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts a watchdog at the other end of a new socket pair.
pub(super) fn launch(executable: &Path) -> io::Result<(Child, Arc<UnixStream>)> {
    // The standard library sets close-on-exec, so no server inherits this socket and keeps it open.
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(WRITE_TIMEOUT))?;
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

/// Sends one record; async-signal-safe, so allowed between fork and exec. Errors are ignored, and `SIGPIPE` is
/// suppressed because it would kill a child before its exec.
pub(super) fn send(socket: &UnixStream, number: i32) {
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    let _ = rustix::io::retry_on_intr(|| rustix::net::send(socket, &number.to_le_bytes(), flags));
}

/// An event on the watchdog's end of the socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchdogEvent {
    Record(i32),
    /// No complete record arrived in time.
    Timeout,
    /// The proxy is gone.
    Closed,
}

/// The watchdog's end of the socket. A partly received record survives a timeout.
pub(super) struct Receiver {
    socket: UnixStream,
    record: [u8; 4],
    filled: usize,
}

impl Receiver {
    pub(super) fn new(socket: UnixStream) -> Self {
        Receiver { socket, record: [0; 4], filled: 0 }
    }

    /// Waits for the next event, at most for `timeout`.
    pub(super) fn next(&mut self, timeout: Option<Duration>) -> WatchdogEvent {
        // `set_read_timeout` rejects zero.
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_millis(1)));
        // If the timeout cannot be set, the descendants are not refreshed between records.
        let _ = self.socket.set_read_timeout(timeout);
        loop {
            match self.socket.read(&mut self.record[self.filled..]) {
                Ok(0) => return WatchdogEvent::Closed,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return WatchdogEvent::Timeout;
                }
                Err(_) => return WatchdogEvent::Closed,
            }
            if self.filled == self.record.len() {
                self.filled = 0;
                return WatchdogEvent::Record(i32::from_le_bytes(self.record));
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
        assert_eq!(receiver.next(Some(Duration::ZERO)), WatchdogEvent::Timeout);
        ours.write_all(&bytes[3..]).unwrap();
        assert_eq!(receiver.next(None), WatchdogEvent::Record(-70_000));
        drop(ours);
        assert_eq!(receiver.next(None), WatchdogEvent::Closed);
    }
}
