//! All sandbox workers of this proxy: how many may run, and a spare one that waits for the next script.

use std::io;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use super::exit_reason::ExitReason;
use super::permits::ScriptPermits;
use super::run::ScriptRun;
use super::run_counts::RunCounts;
use crate::sandbox::protocol::{MAX_SOURCE, ScriptJob, ScriptResult, ToWorker};
use crate::sandbox::zygote::{StartedWorker, WorkerProcess, Zygote, is_connected};
use proxy_config::CodeMode;
use proxy_model::Owner;

pub struct Workers {
    permits: ScriptPermits,
    zygote: io::Result<Arc<Zygote>>,
    /// A worker that is ready, or being forked.
    spare: Mutex<Option<oneshot::Receiver<StartedWorker>>>,
    counts: RunCounts,
}

impl Workers {
    /// The workers of this process.
    pub fn shared() -> &'static Workers {
        static SHARED: LazyLock<Workers> = LazyLock::new(|| Workers {
            permits: ScriptPermits::new(),
            zygote: Zygote::new(),
            spare: Mutex::new(None),
            counts: RunCounts::default(),
        });
        &SHARED
    }

    /// Counts a script that is over.
    pub fn count(&self, end: &Result<ScriptResult, ExitReason>) {
        self.counts.add(end);
    }

    /// How many scripts have ended, by how they did.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.all()
    }

    /// Requests a spare worker if there is none, so that the next script does not wait for a fork.
    pub fn warm_up(&self) {
        let mut spare = self.spare.lock();
        if let (None, Ok(zygote)) = (&*spare, &self.zygote) {
            *spare = Some(zygote.request_worker());
        }
    }

    /// Starts a script once there is a permit for the person who runs it.
    pub async fn start(
        &self,
        job: ScriptJob,
        limits: &CodeMode,
        person: Option<&Owner>,
    ) -> Result<ScriptRun, ExitReason> {
        if job.source.len() > MAX_SOURCE {
            return Err(ExitReason::Source(job.source.len()));
        }
        let closed = || ExitReason::NotStarted("the proxy is shutting down".to_owned());
        let permit = self.permits.acquire(person).await.ok_or_else(closed)?;
        let (process, socket) = self.worker().await.map_err(|error| ExitReason::NotStarted(error.to_string()))?;
        let run = ScriptRun::new(process, socket, permit, limits);
        run.send(&ToWorker::Run(Box::new(job))).await;
        Ok(run)
    }

    /// The spare worker, or a new one if there is none or it has died. Requests the next spare.
    async fn worker(&self) -> io::Result<(WorkerProcess, UnixStream)> {
        let zygote = self.zygote.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        let spare = self.spare.lock().take();
        let spare = match spare {
            Some(spare) => spare.await.ok().and_then(Result::ok),
            None => None,
        };
        let (process, socket) = match spare.filter(|(_, socket)| is_connected(socket)) {
            Some(worker) => worker,
            None => match requested(zygote).await {
                Ok(worker) => worker,
                // The request may have gone to a zygote that was just dying. The next request starts another.
                Err(_) => requested(zygote).await?,
            },
        };
        self.warm_up();
        Ok((process, UnixStream::from_std(socket)?))
    }
}

async fn requested(zygote: &Arc<Zygote>) -> StartedWorker {
    let gone = |_| Err(io::Error::other("the thread that supervises the zygote has ended"));
    zygote.request_worker().await.unwrap_or_else(gone)
}
