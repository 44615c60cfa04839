//! The proxy's own standard input and output, polled instead of read by blocking threads where the system allows it.

use tokio::io::{AsyncRead, AsyncWrite};

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. Pipes and sockets, which clients give to a server, are polled; anything else (a terminal,
/// a file) is read and written by a blocking thread.
pub fn standard_streams() -> (Input, Output) {
    #[cfg(unix)]
    {
        let input = unix::input().unwrap_or_else(|| Box::new(tokio::io::stdin()));
        let output = unix::output().unwrap_or_else(|| Box::new(tokio::io::stdout()));
        (input, output)
    }
    #[cfg(not(unix))]
    (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdStream;

    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    pub(super) fn input() -> Option<Input> {
        let fd = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
        match kind(&fd)? {
            // Opening the pipe again leaves the inherited descriptor, which other processes may share, in blocking mode.
            StreamKind::Pipe => Some(Box::new(pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?)),
            StreamKind::Socket => Some(Box::new(socket(fd)?)),
        }
    }

    pub(super) fn output() -> Option<Output> {
        let fd = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
        match kind(&fd)? {
            StreamKind::Pipe => Some(Box::new(pipe::OpenOptions::new().open_sender("/proc/self/fd/1").ok()?)),
            StreamKind::Socket => Some(Box::new(socket(fd)?)),
        }
    }

    enum StreamKind {
        Pipe,
        Socket,
    }

    fn kind(fd: &OwnedFd) -> Option<StreamKind> {
        let kind = File::from(fd.try_clone().ok()?).metadata().ok()?.file_type();
        if kind.is_fifo() {
            Some(StreamKind::Pipe)
        } else if kind.is_socket() {
            Some(StreamKind::Socket)
        } else {
            None
        }
    }

    fn socket(fd: OwnedFd) -> Option<UnixStream> {
        let stream = StdStream::from(fd);
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }
}
