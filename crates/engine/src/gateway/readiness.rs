//! Access to snapshots and surfaces, immediately or once the servers and the script are ready.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Gateway, SharedSurface, SurfaceHandle};
use crate::surface::{BuildError, ListDigests, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_mcp_client::StartPolicy;
use proxy_model::{BackendView, ItemKind, Snapshot, Status};

impl Gateway {
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.catalog.borrow())
    }

    /// The state of all servers, with every later change.
    pub fn catalog(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.catalog.clone()
    }

    /// The state of the shared surface, with every later change.
    pub fn watch(&self) -> watch::Receiver<SharedSurface> {
        self.top().watch()
    }

    /// A counter that increases whenever the surface of any client may have changed.
    pub fn surface_versions(&self) -> watch::Receiver<u64> {
        self.views.changes()
    }

    /// Whether policies decide who may use what.
    pub fn has_policies(&self) -> bool {
        self.installed.policies().get().is_some()
    }

    /// The surface of a client, without waiting; `None` before it was first built, and if it was dropped to save memory.
    pub fn surface_now(&self, handle: &SurfaceHandle) -> Option<Arc<Surface>> {
        self.view(handle).surfaces.get(handle)
    }

    /// What distinguishes the lists that a client sees, without waiting; `None` before its surface was first built.
    pub fn lists_now(&self, handle: &SurfaceHandle) -> Option<ListDigests> {
        self.view(handle).surfaces.lists(handle)
    }

    /// The surface of a client; the first request waits for the first run of the script. Fails if the script has never
    /// run successfully for this client.
    pub async fn surface(&self, handle: &SurfaceHandle) -> Result<Arc<Surface>, Arc<BuildError>> {
        if !self.is_prepared(handle.profile()) {
            Box::pin(self.prepare(handle)).await;
        }
        if self.people.see_differently() {
            Box::pin(self.meet(handle)).await;
        }
        let view = self.view(handle);
        let shared = view.shared().await?;
        view.surfaces.get_or_build(shared, handle).await
    }

    /// The shared surface, which the script builds for no particular client. Fails if the script has never run
    /// successfully.
    pub async fn shared(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        self.top().shared().await
    }

    /// Whether list requests at the top level need not wait for servers without known lists.
    pub fn has_first_lists(&self) -> bool {
        self.top().has_first_lists()
    }

    /// How long list requests, and calls to items that no server offers yet, wait for servers without known lists.
    pub fn first_list_timeout(&self) -> Duration {
        self.first_list
    }

    /// Waits until every server without known lists is ready, has failed, or has not started within `serve.firstList`.
    /// Returns at once if the script has failed for good.
    pub async fn first_lists(&self) {
        self.top().first_lists().await;
    }

    /// Waits until every server is ready, has failed once or rests, and returns the version of that snapshot.
    pub async fn servers_settled(&self) -> u64 {
        let mut catalog = self.catalog.clone();
        let is_settled = |backend: &Arc<BackendView>| was_tried(backend) || self.may_rest(backend);
        let settled = catalog.wait_for(|snapshot| snapshot.backends.iter().all(is_settled)).await;
        settled.map_or(0, |snapshot| snapshot.version)
    }

    /// Waits until each server has lists, if only cached ones, or has failed once, and the surface was built from them.
    pub async fn lists_known(&self) {
        let mut catalog = self.catalog.clone();
        let known =
            catalog.wait_for(|snapshot| snapshot.backends.iter().all(|one| one.status != Status::Starting)).await;
        let version = known.map_or(0, |snapshot| snapshot.version);
        let _ = self.built_from(version).await;
    }

    /// Whether a server whose lists are known is left alone until a call needs it.
    fn may_rest(&self, backend: &BackendView) -> bool {
        match backend.status {
            Status::Resting => true,
            Status::Cached => self.installed.options.start == StartPolicy::Unknown,
            _ => false,
        }
    }

    /// The shared surface once every server is ready, has failed or rests; for commands that need it once.
    pub async fn settled(&self) -> Result<Arc<Surface>, Arc<BuildError>> {
        let version = self.servers_settled().await;
        self.built_from(version).await
    }

    /// Starts a server that rests, and returns the shared surface once the server is ready or has failed.
    pub async fn woken(&self, server: &str) -> Result<Arc<Surface>, Arc<BuildError>> {
        self.installed.wake(server);
        let mut catalog = self.catalog.clone();
        let tried =
            catalog.wait_for(|snapshot| snapshot.backend(server).is_none_or(|backend| was_tried(backend))).await;
        let version = tried.map_or(0, |snapshot| snapshot.version);
        self.built_from(version).await
    }

    /// The shared surface once it was built from this version of the snapshot or a later one.
    async fn built_from(&self, version: u64) -> Result<Arc<Surface>, Arc<BuildError>> {
        let mut current = self.top().watch();
        let built = current.wait_for(|now| now.snapshot >= version).await;
        match built.ok().map(|now| (now.error.clone(), now.surface.clone())) {
            Some((Some(error), _)) => Err(error),
            Some((None, Some(surface))) => Ok(surface),
            Some((None, None)) => Err(Arc::new(Diagnostic::error("the session script did not run").into())),
            None => self.shared().await,
        }
    }

    /// The shared surface as soon as it contains this item and the item's server is ready, at the latest when every
    /// server is ready or has failed.
    pub async fn offering(&self, wanted: Option<(ItemKind, &str)>) -> Result<Arc<Surface>, Arc<BuildError>> {
        let Some(wanted) = wanted else { return self.settled().await };
        let mut current = self.top().watch();
        let offered = async {
            let found =
                current.wait_for(|now| now.surface.as_ref().is_some_and(|surface| self.can_call(surface, wanted)));
            found.await.ok().and_then(|now| now.surface.clone())
        };
        tokio::select! {
            Some(surface) = offered => Ok(surface),
            settled = self.settled() => settled,
        }
    }

    fn can_call(&self, surface: &Surface, (kind, key): (ItemKind, &str)) -> bool {
        let Some(entry) = surface.find(kind, key) else { return false };
        let snapshot = self.snapshot();
        entry.origin.as_ref().is_some_and(|origin| {
            let usable = |backend: &Arc<BackendView>| backend.status == Status::Ready || self.may_rest(backend);
            snapshot.backend(&origin.backend).is_some_and(usable)
        })
    }

    /// Waits until every required server is ready. Fails as soon as one of them cannot be started.
    pub async fn required_servers(&self) -> Result<(), Diagnostic> {
        let mut catalog = self.catalog.clone();
        let views = |snapshot: &Arc<Snapshot>| -> Vec<_> {
            self.required.iter().filter_map(|name| snapshot.backend(name).cloned()).collect()
        };
        let settled = catalog.wait_for(|snapshot| views(snapshot).iter().all(|backend| was_tried(backend))).await;
        let Ok(snapshot) = settled else { return Ok(()) };
        match views(&snapshot).into_iter().find(|backend| backend.status != Status::Ready) {
            None => Ok(()),
            Some(backend) => {
                Err(Diagnostic::error(format!("required server `{}` did not start: {}", backend.name, backend.error)))
            }
        }
    }
}

/// Whether a backend is ready or at least one attempt to start it has failed.
fn was_tried(backend: &BackendView) -> bool {
    matches!(backend.status, Status::Ready | Status::PerPerson) || !backend.error.is_empty()
}
