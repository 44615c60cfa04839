//! Each person's views of the servers with a separate connection for each person (per-person servers).

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::join_all;
use tokio::sync::{Notify, watch};

use super::{SurfaceHandle, View};
use crate::gateway::Gateway;
use crate::gateway::catalog::BackendMembers;
use crate::gateway::rebuild::FIRST_RUN_TIMEOUT;
use crate::surface::Surface;
use proxy_json::Raw;
use proxy_mcp_client::PersonBackend;
use proxy_model::{BackendView, ClientProfile, ItemKind, PersonKey, Principal};

/// All people and their connections.
pub(in crate::gateway) struct People {
    members: Arc<ArcSwap<BackendMembers>>,
    /// Increases when one person's view of a server changes.
    pub(super) changes: watch::Receiver<u64>,
    /// How long the first lists of a person wait for servers.
    first_list: Duration,
}

impl People {
    pub(in crate::gateway) fn new(
        members: &Arc<ArcSwap<BackendMembers>>,
        changes: &Arc<Notify>,
        first_list: Duration,
    ) -> Self {
        People { members: Arc::clone(members), changes: counted(Arc::clone(changes)), first_list }
    }

    /// Whether there is a per-person server.
    pub(in crate::gateway) fn see_differently(&self) -> bool {
        self.members.load().has_per_person
    }

    /// A person's current views of these servers. Empty for callers without a token from an issuer.
    pub(super) fn views(&self, person: Option<&PersonKey>) -> Vec<Arc<BackendView>> {
        let Some(person) = person else { return Vec::new() };
        let members = self.members.load();
        let servers = members.backends.iter().filter_map(|backend| backend.per_person()?.known(person));
        servers.map(|server| server.view()).collect()
    }

    /// The connections of a person to the servers of a view, opened where there are none.
    fn open(&self, person: &PersonKey, view: &View) -> Vec<Arc<dyn PersonBackend>> {
        let members = self.members.load();
        let everybodys = members.backends.iter().filter(|backend| backend.per_person().is_some());
        let shown = everybodys.filter(|backend| view.shows(&backend.view().name));
        shown.filter_map(|backend| backend.per_person()?.open(person)).collect()
    }
}

/// Counts notifications, each of which wakes only one task, for all views.
fn counted(changes: Arc<Notify>) -> watch::Receiver<u64> {
    let (count, counted) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = changes.notified() => count.send_modify(|count| *count += 1),
                () = count.closed() => return,
            }
        }
    });
    counted
}

/// What clients of this profile see of a server, as one person sees it.
pub(super) fn seen_by(view: &Arc<BackendView>, profile: ClientProfile) -> Arc<BackendView> {
    match view.variant(profile) {
        Some(variant) => Arc::new(view.with_variant(variant)),
        None => Arc::clone(view),
    }
}

impl Gateway {
    /// Opens the connections of the person behind a handle, which keeps them open. Waits for their lists, at most as
    /// long as the first run of the script waits.
    pub(in crate::gateway) async fn meet(&self, handle: &SurfaceHandle) {
        let Some(person) = handle.person_key() else { return };
        let servers = self.people.open(person, self.view(handle));
        handle.hold(&servers);
        let owner = handle.person();
        let met = servers.iter().map(|server| async {
            server.settled(FIRST_RUN_TIMEOUT.min(self.people.first_list)).await;
            if server.is_settled() {
                // Continues in the background after the timeout.
                let _ = tokio::time::timeout(FIRST_RUN_TIMEOUT, server.retry_refused()).await;
                server.prepare(handle.profile(), &owner).await;
            }
        });
        join_all(met).await;
    }

    /// Whether a person may know of a server's log-in tool where they come in: at the top level, or under a profile.
    pub fn may_log_in(&self, principal: &Principal, server: &str, tool: &str) -> bool {
        let is_shown = self.installed.editions.borrow().shows(principal.profile(), server);
        is_shown && self.calls().may_log_in(principal, server, tool)
    }

    /// Whether there is a per-person server.
    pub fn people_see_differently(&self) -> bool {
        self.people.see_differently()
    }

    /// The result of a server's log-in tool for a caller who has logged in and therefore does not see it any more. `None` for
    /// other tools, and if the caller sees no tool of that server.
    pub fn logged_in(&self, handle: &SurfaceHandle, surface: &Surface, tool: &str) -> Option<Raw> {
        let sees = |server: &str| surface.origins(ItemKind::Tool).flatten().any(|origin| **origin == *server);
        let servers = handle.held();
        servers.iter().filter(|server| sees(&server.view().name)).find_map(|server| server.logged_in(tool))
    }

    /// Whether all per-person servers that were opened for this handle have answered or failed.
    pub fn has_first_lists_of(&self, handle: &SurfaceHandle) -> bool {
        !self.people.see_differently() || handle.held().iter().all(|server| server.is_settled())
    }

    /// Whether no per-person lists exist for this handle, so that there is nothing to wait for.
    pub fn knows_first_lists_of(&self, handle: &SurfaceHandle) -> bool {
        !self.people.see_differently() || handle.person_key().is_none()
    }

    /// Waits for the per-person lists of the person behind a handle, at most `serve.firstList` after the person's first
    /// request.
    pub async fn first_lists_of(&self, handle: &SurfaceHandle) {
        if !self.people.see_differently() {
            return;
        }
        let Some(person) = handle.person_key() else { return };
        let servers = self.people.open(person, self.view(handle));
        handle.hold(&servers);
        join_all(servers.iter().map(|server| server.settled(self.people.first_list))).await;
    }
}
