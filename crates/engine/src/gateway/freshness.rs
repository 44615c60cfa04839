//! Freshness of lists. A list request refreshes the lists of servers that are older than the server's TTL, and the
//! cache hint of a published list combines those of all servers that contribute to it.

use std::sync::Arc;
use std::time::Duration;

use super::{Gateway, SurfaceHandle, View};
use crate::surface::Surface;
use proxy_mcp_client::{Backend, CacheHint};
use proxy_model::{BackendKind, BackendView, ClientProfile, ItemKind, Snapshot, Status};

/// Maximum time a list request waits for fresh lists. A list that arrives later is announced by `list_changed`.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(2);

impl Gateway {
    /// Refreshes expired lists of this kind, and waits until the client's surface contains them.
    pub async fn refresh(&self, kind: ItemKind, handle: &SurfaceHandle) {
        let view = self.view(handle);
        let members = self.installed.backend_set.members().load_full();
        let servers = members.backends.iter().filter_map(|backend| backend.connected());
        let own = handle.held();
        let own = own.iter().map(|server| server.refresh(kind, handle.profile()));
        let listings = servers.map(|server| server.refresh(kind, handle.profile())).chain(own);
        let mut listings = futures::future::join_all(listings);
        // If no list has expired or changed, all futures are ready at the first poll.
        let is_fresh = futures::poll!(&mut listings).is_ready();
        // While servers start, views change all the time, and a script that fails may wait for the next one.
        if is_fresh && (self.is_caught_up(view) || !self.snapshot().is_settled()) {
            return;
        }
        let refreshed = async {
            if !is_fresh {
                listings.await;
            }
            self.caught_up(view).await;
            view.surfaces.caught_up(handle).await;
        };
        if tokio::time::timeout(REFRESH_TIMEOUT, refreshed).await.is_err() {
            tracing::debug!(?kind, "an expired or changed list was not refreshed in time");
        }
    }

    /// Whether the shared surface of a view was built from the present views of the backends.
    fn is_caught_up(&self, of: &View) -> bool {
        let (snapshot, members) = (self.snapshot(), self.installed.backend_set.members().load());
        let is_shown = |(shown, backend): (&Arc<BackendView>, &Arc<dyn Backend>)| {
            let view = backend.view();
            Arc::ptr_eq(shown, &view) || *shown == view
        };
        snapshot.backends.len() == members.backends.len()
            && snapshot.backends.iter().zip(&members.backends).all(is_shown)
            && of.current.borrow().snapshot >= snapshot.version
    }

    /// Waits for a short time until a client's surface has been built from the present views of the backends.
    pub async fn caught_up_for(&self, handle: &SurfaceHandle) {
        let view = self.view(handle);
        let caught_up = async {
            self.caught_up(view).await;
            view.surfaces.caught_up(handle).await;
        };
        let _ = tokio::time::timeout(REFRESH_TIMEOUT, caught_up).await;
    }

    /// Waits until the shared surface of a view has been built from the present views of the backends.
    pub(super) async fn caught_up(&self, of: &View) {
        let (mut catalog, mut current) = (self.catalog.clone(), of.watch());
        let views: Vec<Arc<BackendView>> =
            self.installed.backend_set.members().load().backends.iter().map(|backend| backend.view()).collect();
        let shows = |snapshot: &Arc<Snapshot>| snapshot.backends == views;
        let Ok(version) = catalog.wait_for(shows).await.map(|snapshot| snapshot.version) else { return };
        let _ = current.wait_for(|now| now.snapshot >= version).await;
    }

    /// How long and for whom a client may cache a list: the strictest hint of all servers that contribute to it or
    /// could.
    pub fn cache_hint(&self, surface: &Surface, kind: ItemKind, profile: ClientProfile) -> CacheHint {
        let has_own_items = surface.origins(kind).any(|origin| origin.is_none());
        let members = self.installed.backend_set.members().load();
        let parts = members.backends.iter().filter(|backend| contributes(backend.as_ref(), surface, kind));
        let hints = parts.map(|backend| match backend.connected() {
            Some(server) => server.cache_hint(kind, profile),
            None => CacheHint::default(),
        });
        let combined = hints.reduce(CacheHint::and);
        let combined = combined.filter(|_| !has_own_items).unwrap_or_default();
        // A surface built for one client must not end up in a shared cache.
        // A shared cache does not know which client gets which form of the tools.
        let is_for_client = surface.reads_row() || (kind == ItemKind::Tool && surface.dialects().is_on());
        let is_for_person =
            surface.personal().is_some() || surface.is_permitted_view() || self.people.see_differently();
        let is_for_all = !is_for_client && !is_for_person;
        CacheHint { public: combined.public && is_for_all, ..combined }
    }
}

fn contributes(backend: &dyn Backend, surface: &Surface, kind: ItemKind) -> bool {
    let view = backend.view();
    let listed = surface.origins(kind).any(|origin| origin == Some(&view.name));
    let may_list = view.status != Status::Ready || view.info.capabilities.get(kind.capability()).is_some();
    listed || (view.kind != BackendKind::Extension && may_list)
}
