//! What each person sees of the servers that everybody has a connection of their own to.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::join_all;
use tokio::sync::Notify;

use super::SurfaceHandle;
use crate::gateway::Gateway;
use crate::gateway::catalog::BackendMembers;
use crate::gateway::rebuild::FIRST_RUN_TIMEOUT;
use proxy_mcp_client::PersonBackend;
use proxy_model::{BackendView, ClientProfile, PersonKey};

/// All people and their connections.
pub(in crate::gateway) struct People {
    members: Arc<ArcSwap<BackendMembers>>,
    /// Notified when what one person sees of a server changes.
    pub(super) changes: Arc<Notify>,
    /// How long the first lists of a person wait for servers.
    first_list: Duration,
}

impl People {
    pub(in crate::gateway) fn new(
        members: &Arc<ArcSwap<BackendMembers>>,
        changes: &Arc<Notify>,
        first_list: Duration,
    ) -> Self {
        People { members: Arc::clone(members), changes: Arc::clone(changes), first_list }
    }

    /// Whether there is a server that everybody sees differently.
    pub(in crate::gateway) fn see_differently(&self) -> bool {
        self.members.load().has_per_person
    }

    /// What a person sees now of these servers. Empty for callers whom no issuer has vouched for.
    pub(super) fn views(&self, person: Option<&PersonKey>) -> Vec<Arc<BackendView>> {
        let Some(person) = person else { return Vec::new() };
        let members = self.members.load();
        let servers = members.backends.iter().filter_map(|backend| backend.per_person()?.known(person));
        servers.map(|server| server.view()).collect()
    }

    /// The connections of a person, opened where there are none.
    fn open(&self, person: &PersonKey) -> Vec<Arc<dyn PersonBackend>> {
        let members = self.members.load();
        members.backends.iter().filter_map(|backend| backend.per_person()?.open(person)).collect()
    }
}

/// What clients of this profile see of a server, as one person sees it.
pub(super) fn seen_by(view: &Arc<BackendView>, profile: ClientProfile) -> Arc<BackendView> {
    match view.variant(profile) {
        Some(variant) => Arc::new(view.with_variant(variant)),
        None => Arc::clone(view),
    }
}

impl Gateway {
    /// Opens the connections of the person behind a handle, which holds them from then on. Waits until it is known what they
    /// list, at most as long as the first run of the script waits.
    pub(in crate::gateway) async fn meet(&self, handle: &SurfaceHandle) {
        let Some(person) = handle.person_key() else { return };
        let servers = self.people.open(&person);
        handle.hold(&servers);
        let owner = handle.person();
        let met = servers.iter().map(|server| async {
            server.settled(FIRST_RUN_TIMEOUT.min(self.people.first_list)).await;
            if server.is_settled() {
                // Goes on if nobody waits for it.
                let _ = tokio::time::timeout(FIRST_RUN_TIMEOUT, server.retry_refused()).await;
                server.prepare(handle.profile(), &owner).await;
            }
        });
        join_all(met).await;
    }

    /// Whether there is a server that everybody sees differently.
    pub fn people_see_differently(&self) -> bool {
        self.people.see_differently()
    }

    /// Whether no server that the person behind a handle has met is awaited any more.
    pub fn has_first_lists_of(&self, handle: &SurfaceHandle) -> bool {
        !self.people.see_differently() || handle.held().iter().all(|server| server.is_settled())
    }

    /// Whether there is nobody behind a handle for whom a server would list something else.
    pub fn knows_first_lists_of(&self, handle: &SurfaceHandle) -> bool {
        !self.people.see_differently() || handle.person_key().is_none()
    }

    /// Waits until it is known what the servers list for the person behind a handle, at most for `serve.firstList` after the
    /// person came first.
    pub async fn first_lists_of(&self, handle: &SurfaceHandle) {
        if !self.people.see_differently() {
            return;
        }
        let Some(person) = handle.person_key() else { return };
        let servers = self.people.open(&person);
        handle.hold(&servers);
        join_all(servers.iter().map(|server| server.settled(self.people.first_list))).await;
    }
}
