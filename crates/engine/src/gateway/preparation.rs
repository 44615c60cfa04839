//! Fetches server lists for client profiles that differ from the main connections', when the first such client connects.

use std::time::Duration;

use futures::future::join_all;

use super::{Gateway, SurfaceHandle};
use proxy_mcp_client::MissingLists;
use proxy_model::ClientProfile;

/// Maximum time that the first client of a profile waits. What arrives later is announced by `list_changed`.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(2);

/// The profiles for which the servers of one generation were prepared.
#[derive(Clone, Debug, Default)]
pub(super) struct PreparedProfiles {
    generation: u64,
    profiles: Vec<ClientProfile>,
    /// Those whose first list has waited for the servers.
    listed: Vec<ClientProfile>,
}

impl PreparedProfiles {
    /// The profiles that servers of this generation were prepared for.
    fn of_generation(&self, generation: u64) -> Self {
        match self.generation == generation {
            true => self.clone(),
            false => PreparedProfiles { generation, ..PreparedProfiles::default() },
        }
    }
}

impl Gateway {
    /// Whether the present servers were asked what clients of this profile see.
    pub fn is_prepared(&self, profile: ClientProfile) -> bool {
        let profile = profile.prepared();
        let prepared = self.prepared.load();
        profile == ClientProfile::SESSION
            || (prepared.generation == self.installed.backend_set.generation() && prepared.profiles.contains(&profile))
    }

    /// Fetches the server lists for clients of the profile of a handle, on connections from the person's share, and waits until
    /// the shared surface has them.
    pub(super) async fn prepare(&self, handle: &SurfaceHandle) {
        let profile = handle.profile().prepared();
        let person = &handle.person();
        let members = self.installed.backend_set.members().load_full();
        let prepared = async {
            let servers = members.backends.iter().filter_map(|backend| backend.connected());
            join_all(servers.map(|server| server.prepare(profile, person))).await;
            self.caught_up(self.view(handle)).await;
        };
        if tokio::time::timeout(PREPARATION_TIMEOUT, prepared).await.is_err() {
            tracing::debug!(?profile, "some servers did not list their items for clients with this profile in time");
        }
        // Not before the end: a second client waits as well.
        self.prepared.rcu(|known| {
            let mut prepared = known.of_generation(members.generation);
            if !prepared.profiles.contains(&profile) {
                prepared.profiles.push(profile);
            }
            prepared
        });
    }

    /// Whether a list request can be answered without waiting for the server lists of this profile.
    pub fn has_lists_for(&self, profile: ClientProfile) -> bool {
        let prepared = self.prepared.load();
        prepared.generation == self.installed.backend_set.generation() && prepared.listed.contains(&profile)
    }

    /// Waits until every server shows the lists for this client's profile: for `serve.firstList` if a server's lists are
    /// known to differ by profile, and otherwise briefly. The first list request of a profile does this.
    pub async fn lists_for(&self, handle: &SurfaceHandle) {
        let (profile, person) = (handle.profile(), handle.person());
        let members = self.installed.backend_set.members().load_full();
        let view = self.view(handle);
        let shown = members.backends.iter().filter(|backend| view.shows(&backend.view().name));
        let servers = shown.filter_map(|backend| backend.connected());
        let missing = servers.filter_map(|server| Some((server, server.missing_lists(profile)?)));
        let listings: Vec<_> = missing
            .map(|(server, missing)| {
                let limit = match missing {
                    MissingLists::Differing => self.first_list,
                    MissingLists::Unknown => PREPARATION_TIMEOUT.min(self.first_list),
                };
                tokio::time::timeout(limit, server.list_for(profile, &person))
            })
            .collect();
        join_all(listings).await;
        self.caught_up_for(handle).await;
        self.prepared.rcu(|known| {
            let mut prepared = known.of_generation(members.generation);
            if !prepared.listed.contains(&profile) {
                prepared.listed.push(profile);
            }
            prepared
        });
    }
}
