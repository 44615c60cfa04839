//! How old a list may be: servers whose lists are too old are asked again when somebody looks, and clients are told what
//! holds for all parts of a list together.

use std::sync::Arc;
use std::time::Duration;

use super::{Gateway, SurfaceHandle};
use crate::backend::{Backend, CacheHint};
use crate::model::Snapshot;
use crate::model::{BackendKind, BackendView, ItemKind, Status};
use crate::surface::Surface;

/// Whoever asks for a list does not wait longer for news of it; they arrive as a change then.
const PATIENCE: Duration = Duration::from_secs(2);

impl Gateway {
    /// Has lists that are older than their servers allow made again, and waits for the surface to show it.
    pub async fn refresh(&self, kind: ItemKind, view: &SurfaceHandle) {
        let members = self.installed.backend_set.members().load_full();
        let mut listings = futures::future::join_all(members.backends.iter().map(|backend| backend.refresh(kind)));
        // What is not old is ready at once, and then there is nothing to wait for.
        if futures::poll!(&mut listings).is_ready() {
            return;
        }
        let renewed = async {
            listings.await;
            self.caught_up().await;
            self.surfaces.caught_up(view).await;
        };
        if tokio::time::timeout(PATIENCE, renewed).await.is_err() {
            tracing::debug!(?kind, "a list that is old was not made again in time");
        }
    }

    /// Ends when the surface was made of what the backends show at this moment.
    async fn caught_up(&self) {
        let (mut catalog, mut current) = (self.catalog.clone(), self.current.clone());
        let views: Vec<Arc<BackendView>> =
            self.installed.backend_set.members().load().backends.iter().map(|backend| backend.view()).collect();
        let shows = |snapshot: &Arc<Snapshot>| snapshot.backends == views;
        let Ok(version) = catalog.wait_for(shows).await.map(|snapshot| snapshot.version) else { return };
        let _ = current.wait_for(|now| now.snapshot >= version).await;
    }

    /// For how long and for whom a list may be kept: what holds for every server that could add to it, and for
    /// everything that is in it.
    pub fn cache_hint(&self, surface: &Surface, kind: ItemKind) -> CacheHint {
        let made_here = surface.origins(kind).any(|origin| origin.is_none());
        let members = self.installed.backend_set.members().load();
        let parts = members.backends.iter().filter(|backend| contributes(backend.as_ref(), surface, kind));
        let whole = parts.map(|backend| backend.cache_hint(kind)).reduce(CacheHint::and);
        let whole = whole.filter(|_| !made_here).unwrap_or_default();
        // What is made for one visitor is nobody else's to keep.
        CacheHint { public: whole.public && surface.personal().is_none(), ..whole }
    }
}

fn contributes(backend: &dyn Backend, surface: &Surface, kind: ItemKind) -> bool {
    let view = backend.view();
    let listed = surface.origins(kind).any(|origin| origin == Some(&view.name));
    let may_list = view.status != Status::Ready || view.info.capabilities.get(kind.capability()).is_some();
    listed || (view.kind != BackendKind::Extension && may_list)
}
