//! The processes of a server that are running.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct ServerProcesses(Mutex<Vec<NotedProcess>>);

#[derive(Debug)]
struct NotedProcess {
    id: u32,
    started: Instant,
    /// Cancelled when the process has ended.
    stopped: CancellationToken,
}

/// A running process of a server.
#[derive(Clone, Copy, Debug)]
pub struct RunningProcess {
    pub id: u32,
    pub uptime: Duration,
}

impl ServerProcesses {
    pub(crate) fn note(&self, id: Option<u32>, stopped: CancellationToken) {
        let mut noted = self.0.lock();
        noted.retain(|process| !process.stopped.is_cancelled());
        noted.extend(id.map(|id| NotedProcess { id, started: Instant::now(), stopped }));
    }

    /// Those that are running, the oldest first.
    pub(crate) fn running(&self) -> Vec<RunningProcess> {
        let noted = self.0.lock();
        let running = noted.iter().filter(|process| !process.stopped.is_cancelled());
        running.map(|process| RunningProcess { id: process.id, uptime: process.started.elapsed() }).collect()
    }
}
