//! One worker process, as the proxy holds it.

use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::client::Zygote;

/// A worker that waits for its script or runs it. Dropping this kills the process.
#[derive(Debug)]
pub(in crate::sandbox) struct WorkerProcess {
    /// None once the worker is being killed.
    id: Option<u32>,
    zygote: Arc<Zygote>,
}

impl WorkerProcess {
    pub(super) fn new(id: u32, zygote: Arc<Zygote>) -> Self {
        WorkerProcess { id: Some(id), zygote }
    }

    /// Kills the process if it has not ended, and returns its exit status; none if the zygote is gone and the status
    /// unknown.
    pub(in crate::sandbox) async fn exit_status(mut self) -> Option<ExitStatus> {
        let status = self.zygote.kill(self.id.take()?);
        status.await.ok()
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            drop(self.zygote.kill(id));
        }
    }
}

/// Whether a worker without a script is still connected. Such a worker sends nothing, so any byte or end of file means
/// that something is wrong.
pub(in crate::sandbox) fn is_connected(socket: &UnixStream) -> bool {
    matches!(recv(socket, &mut [0u8; 1], RecvFlags::PEEK), Err(Errno::WOULDBLOCK))
}
