//! What servers show clients of other profiles than that of their main connections. It is found out when the first such
//! client comes.

use std::time::Duration;

use futures::future::join_all;

use super::{Gateway, SurfaceHandle};
use proxy_mcp_client::MissingLists;
use proxy_model::{ClientProfile, Owner};

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

    /// Asks the servers what clients of this profile see, with connections from this person's share, and waits until the
    /// shared surface knows it.
    pub(super) async fn prepare(&self, profile: ClientProfile, person: &Owner) {
        let profile = profile.prepared();
        let members = self.installed.backend_set.members().load_full();
        let prepared = async {
            let servers = members.backends.iter().filter_map(|backend| backend.connected());
            join_all(servers.map(|server| server.prepare(profile, person))).await;
            self.caught_up().await;
        };
        if tokio::time::timeout(PREPARATION_TIMEOUT, prepared).await.is_err() {
            tracing::debug!(?profile, "some servers did not say in time what such clients see");
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

    /// Whether a list can be answered without waiting for what servers show clients of this profile.
    pub fn has_lists_for(&self, profile: ClientProfile) -> bool {
        let prepared = self.prepared.load();
        prepared.generation == self.installed.backend_set.generation() && prepared.listed.contains(&profile)
    }

    /// Waits until no server shows a client what others see: for `serve.firstList` if the lists of a server are known to
    /// differ, and else for a short time. The first list of a profile does this.
    pub async fn lists_for(&self, handle: &SurfaceHandle) {
        let (profile, person) = (handle.profile(), handle.person());
        let members = self.installed.backend_set.members().load_full();
        let servers = members.backends.iter().filter_map(|backend| backend.connected());
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
