//! One worker process as its parent holds it.

use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::nursery::Zygote;

/// A worker that has no script yet, or runs one. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Process {
    number: Option<u32>,
    nursery: Arc<Zygote>,
}

impl Process {
    pub(super) fn new(number: u32, nursery: Arc<Zygote>) -> Self {
        Process { number: Some(number), nursery }
    }

    /// Ends it, if it has not ended by itself, and says how it did; none if nobody is left who could tell.
    pub(super) async fn ended(mut self) -> Option<ExitStatus> {
        let told = self.nursery.end(self.number.take()?);
        told.await.ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            drop(self.nursery.end(number));
        }
    }
}

/// Whether there is still a worker at the other end. None says anything before it has a script.
pub(super) fn is_there(stream: &UnixStream) -> bool {
    matches!(recv(stream, &mut [0u8; 1], RecvFlags::PEEK), Err(Errno::WOULDBLOCK))
}
