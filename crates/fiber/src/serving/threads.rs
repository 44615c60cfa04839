//! The serving threads of a process.

use std::io;
use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use super::load::{LoadingConnection, ThreadLoad, ThreadReport};
use super::number::{MAX_SERVING_THREADS, become_serving_thread};
use crate::wakeups::{batch_wakeups, flush_wakeups};

/// The runtime of a thread that serves clients. The calling thread must be the one that runs it.
pub fn serving_runtime() -> io::Result<Runtime> {
    batch_wakeups();
    Builder::new_current_thread().enable_all().on_thread_park(flush_wakeups).build()
}

/// Threads to which connections are distributed. The first is the one that made them; the others end with the last clone.
#[derive(Clone, Debug)]
pub struct ServingThreads(Arc<[ServingThread]>);

#[derive(Debug)]
struct ServingThread {
    runtime: Handle,
    load: Arc<ThreadLoad>,
    /// Dropping it ends the thread.
    _stop: Option<oneshot::Sender<()>>,
}

impl ServingThreads {
    /// The calling thread and others, `count` in all. Called on the runtime of the first.
    pub fn start(count: usize) -> io::Result<Self> {
        let others = (1..count.min(MAX_SERVING_THREADS)).map(ServingThread::start);
        let threads: io::Result<Vec<_>> = std::iter::once(Ok(ServingThread::current())).chain(others).collect();
        Ok(ServingThreads(threads?.into()))
    }

    /// The thread for the next connection: the one with the fewest running requests; of these, the one with the fewest
    /// connections.
    pub fn least_loaded(&self) -> (&Handle, LoadingConnection) {
        let least = self.0.iter().min_by_key(|thread| thread.load.rank()).unwrap_or(&self.0[0]);
        (&least.runtime, least.load.connection())
    }

    pub fn reports(&self) -> Vec<ThreadReport> {
        let report = |thread: &ServingThread| {
            let busy = thread.runtime.metrics().worker_total_busy_duration(0);
            thread.load.report(busy)
        };
        self.0.iter().map(report).collect()
    }
}

/// Only the calling thread. Called on its runtime.
impl Default for ServingThreads {
    fn default() -> Self {
        ServingThreads([ServingThread::current()].into())
    }
}

impl ServingThread {
    fn current() -> Self {
        ServingThread { runtime: Handle::current(), load: Arc::default(), _stop: None }
    }

    fn start(number: usize) -> io::Result<Self> {
        let (started, start) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new().name(format!("serve-{}", number + 1)).spawn(move || {
            become_serving_thread(number);
            match serving_runtime() {
                Ok(runtime) => {
                    let _ = started.send(Ok(runtime.handle().clone()));
                    let _ = runtime.block_on(stopped);
                    // A blocking operation that still runs must not delay the end of the process.
                    runtime.shutdown_background();
                }
                Err(error) => drop(started.send(Err(error))),
            }
        })?;
        let runtime = start.recv().map_err(io::Error::other)??;
        Ok(ServingThread { runtime, load: Arc::default(), _stop: Some(stop) })
    }
}
