//! The stdin of a child process. Once it has been dropped, it is known whether the child read everything written to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

/// Whether a child has read everything that was written to it. Known when its stdin has been dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputRead(Arc<AtomicBool>);

impl InputRead {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The writing end of a child's stdin.
#[derive(Debug)]
pub(super) struct WatchedStdin {
    stdin: ChildStdin,
    was_written: bool,
    has_failed: bool,
    read: InputRead,
}

impl WatchedStdin {
    pub(super) fn new(stdin: ChildStdin, read: &InputRead) -> Self {
        WatchedStdin { stdin, was_written: false, has_failed: false, read: read.clone() }
    }

    fn note<T>(&mut self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &outcome {
            Poll::Ready(Ok(_)) => self.was_written = true,
            Poll::Ready(Err(_)) => self.has_failed = true,
            Poll::Pending => {}
        }
        outcome
    }
}

impl Drop for WatchedStdin {
    fn drop(&mut self) {
        // What the child has not read is still in the pipe, even if the child has exited.
        let is_empty = rustix::io::ioctl_fionread(&self.stdin).is_ok_and(|unread| unread == 0);
        self.read.0.store(self.was_written && !self.has_failed && is_empty, Ordering::Release);
    }
}

impl AsyncWrite for WatchedStdin {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stdin).poll_write(cx, bytes);
        self.note(outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(cx)
    }
}
