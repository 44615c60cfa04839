//! What can be seen of a running proxy, now or when it has come so far.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Current, Gateway, SurfaceHandle};
use crate::diagnostic::Diagnostic;
use crate::model::Snapshot;
use crate::model::Status;
use crate::surface::{BuildError, Surface};

impl Gateway {
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.catalog.borrow())
    }

    /// Where the surface stands that is nobody's in particular, now and later.
    pub fn watch(&self) -> watch::Receiver<Current> {
        self.current.clone()
    }

    /// Counts up whenever somebody may see something else.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.surfaces.news()
    }

    /// What a visitor sees, without waiting.
    pub fn surface_now(&self, view: &SurfaceHandle) -> Option<Arc<Surface>> {
        self.surfaces.now(view)
    }

    /// What a visitor sees; the first request waits for the first run. An error means that the script never ran for them.
    pub async fn surface(&self, view: &SurfaceHandle) -> Result<Arc<Surface>, Arc<BuildError>> {
        let shared = self.shared().await?;
        self.surfaces.variant(shared, view).await
    }

    /// The surface that the script makes for nobody in particular. An error means that it never ran.
    pub async fn shared(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        if let Some(surface) = self.current.borrow().surface.clone() {
            return Ok(surface);
        }
        let mut current = self.current.clone();
        let stopped = || Arc::new(Diagnostic::error("the proxy is shutting down").into());
        let current =
            current.wait_for(|now| now.surface.is_some() || now.error.is_some()).await.map_err(|_| stopped())?;
        match (&current.surface, &current.error) {
            (Some(surface), _) => Ok(Arc::clone(surface)),
            (None, Some(error)) => Err(Arc::clone(error)),
            (None, None) => Err(stopped()),
        }
    }

    /// Ends when every server is up or has failed to come up once; the version of that snapshot.
    pub async fn servers_settled(&self) -> u64 {
        let mut catalog = self.catalog.clone();
        let settled = catalog.wait_for(|snapshot| snapshot.backends.iter().all(|backend| tried(backend))).await;
        settled.map_or(0, |snapshot| snapshot.version)
    }

    /// The surface once every server has either come up or failed to; for commands that look once.
    pub async fn settled(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        let version = self.servers_settled().await;
        let mut current = self.current.clone();
        match current.wait_for(|now| now.snapshot >= version).await {
            Ok(now) => match (&now.error, &now.surface) {
                (Some(error), _) => Err(Arc::clone(error)),
                (None, Some(surface)) => Ok(Arc::clone(surface)),
                (None, None) => Err(Arc::new(Diagnostic::error("the session script did not run").into())),
            },
            Err(_) => self.shared().await,
        }
    }

    /// The surface as soon as it has this tool and the tool's server is up; at the latest when all is settled.
    pub async fn offering(&self, tool: Option<&str>) -> Result<Arc<Surface>, Arc<BuildError>> {
        let Some(tool) = tool else { return self.settled().await };
        let mut current = self.current.clone();
        let offered = async {
            let found =
                current.wait_for(|now| now.surface.as_ref().is_some_and(|surface| self.can_call(surface, tool)));
            found.await.ok().and_then(|now| now.surface.clone())
        };
        tokio::select! {
            Some(surface) = offered => Ok(surface),
            settled = self.settled() => settled,
        }
    }

    fn can_call(&self, surface: &Surface, tool: &str) -> bool {
        let Some(entry) = surface.tool(tool) else { return false };
        let snapshot = self.snapshot();
        entry.origin.as_ref().is_some_and(|origin| {
            snapshot.backend(&origin.backend).is_some_and(|backend| backend.status == Status::Ready)
        })
    }

    /// Ends with an error as soon as a server that must be there cannot be started; otherwise when all of them are up.
    pub async fn required_servers(&self) -> Result<(), Diagnostic> {
        let mut catalog = self.catalog.clone();
        let views = |snapshot: &Arc<Snapshot>| -> Vec<_> {
            self.required.iter().filter_map(|name| snapshot.backend(name).cloned()).collect()
        };
        let settled = catalog.wait_for(|snapshot| views(snapshot).iter().all(|backend| tried(backend))).await;
        let Ok(snapshot) = settled else { return Ok(()) };
        match views(&snapshot).into_iter().find(|backend| backend.status != Status::Ready) {
            None => Ok(()),
            Some(backend) => Err(Diagnostic::error(format!(
                "the server `{}` is required and cannot be used: {}",
                backend.name, backend.error
            ))),
        }
    }
}

/// Whether a backend is up, or at least one attempt has failed.
fn tried(backend: &crate::model::BackendView) -> bool {
    backend.status == Status::Ready || !backend.error.is_empty()
}
