//! All workers of this process: how many there may be, and one that waits ready.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::oneshot;

use super::message::{Job, ToWorker};
use super::nursery::{Started, Zygote};
use super::places::Places;
use super::process::{Process, is_there};
use super::run::Run;
use super::{ExitReason, MAX_SOURCE};
use crate::config::CodeMode;
use crate::model::Owner;

pub struct Workers {
    places: Places,
    nursery: std::io::Result<Arc<Zygote>>,
    /// A worker that is ready, or on its way to be.
    spare: Mutex<Option<oneshot::Receiver<Started>>>,
}

impl Workers {
    pub fn shared() -> &'static Workers {
        static SHARED: LazyLock<Workers> =
            LazyLock::new(|| Workers { places: Places::new(), nursery: Zygote::new(), spare: Mutex::new(None) });
        &SHARED
    }

    /// Sees to it that a worker is ready when the first script comes.
    pub fn warm_up(&self) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Ok(nursery)) = (&*spare, &self.nursery) {
            *spare = Some(nursery.order());
        }
    }

    /// Starts a script of somebody, when there is a place for it.
    pub async fn start(&self, job: Job, limits: &CodeMode, owner: Option<&Owner>) -> Result<Run, ExitReason> {
        if job.source.len() > MAX_SOURCE {
            return Err(ExitReason::Source(job.source.len()));
        }
        let gone = || ExitReason::NotStarted("the proxy is ending".to_owned());
        let place = self.places.take(owner).await.ok_or_else(gone)?;
        let (process, stream) = self.worker().await?;
        let run = Run::new(process, stream, place, limits);
        run.tell(&ToWorker::Job(Box::new(job))).await;
        Ok(run)
    }

    /// The spare one, or a new one where that has died meanwhile; then there is another spare.
    async fn worker(&self) -> Result<(Process, UnixStream), ExitReason> {
        let not_started = |error: &std::io::Error| ExitReason::NotStarted(error.to_string());
        let nursery = self.nursery.as_ref().map_err(not_started)?;
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut worker = None;
        if let Some(spare) = spare
            && let Ok(Ok((process, stream))) = spare.await
            && is_there(&stream)
        {
            worker = Some((process, stream));
        }
        let (process, stream) = match worker {
            Some(worker) => worker,
            None => {
                let gone = |_| ExitReason::NotStarted("the thread that starts them is gone".to_owned());
                match nursery.order().await.map_err(gone)? {
                    Ok(worker) => worker,
                    // It may have gone to a nursery that was just dying. There is another then.
                    Err(_) => nursery.order().await.map_err(gone)?.map_err(|error| not_started(&error))?,
                }
            }
        };
        self.warm_up();
        let stream = UnixStream::from_std(stream).map_err(|error| not_started(&error))?;
        Ok((process, stream))
    }
}
