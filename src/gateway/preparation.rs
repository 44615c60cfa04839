//! What servers show clients of other profiles than that of their main connections. It is found out when the first such
//! client comes.

use std::time::Duration;

use super::Gateway;
use crate::model::{ClientProfile, Owner};

/// Maximum time that the first client of a profile waits. What arrives later is announced by `list_changed`.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(2);

/// The profiles for which the servers of one generation were prepared.
#[derive(Debug, Default)]
pub(super) struct PreparedProfiles {
    generation: u64,
    profiles: Vec<ClientProfile>,
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
            futures::future::join_all(servers.map(|server| server.prepare(profile, person))).await;
            self.caught_up().await;
        };
        if tokio::time::timeout(PREPARATION_TIMEOUT, prepared).await.is_err() {
            tracing::debug!(?profile, "some servers did not say in time what such clients see");
        }
        // Not before the end: a second client waits as well.
        self.prepared.rcu(|known| {
            let mut profiles = match known.generation == members.generation {
                true => known.profiles.clone(),
                false => Vec::new(),
            };
            if !profiles.contains(&profile) {
                profiles.push(profile);
            }
            PreparedProfiles { generation: members.generation, profiles }
        });
    }
}
