//! Finds out whether a server's lists depend on client abilities (elicitation, sampling, roots). Each server version is
//! compared once: its lists for clients with all abilities against its lists for clients with none. If both are equal, so
//! are the lists for all other clients.

use std::sync::Arc;

use super::lists::current_lists::CurrentLists;
use super::supervised::SupervisedServer;
use crate::connection::{Connection, ConnectionPurpose, Leg};
use crate::transport::Signals;
use proxy_model::{Abilities, ClientProfile, Era, ItemKind, Owner, Status};

impl SupervisedServer {
    /// Finds out whether lists depend on abilities, if that was never done, and then lists what clients with these abilities
    /// see.
    pub(super) async fn compare_and_show(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        tokio::select! {
            () = self.compare(abilities) => {}
            () = self.stop.cancelled() => {}
        }
        if self.variants.varies() {
            self.show_abilities(abilities, person).await;
        }
    }

    /// The main connection, once the view shows what is listed on it. `None` if the server cannot be reached.
    pub(super) async fn listed_main(&self) -> Option<Arc<Connection>> {
        let mut listings = self.freshness.subscribe();
        let main = self.connection_unless_resting().await?;
        while self.view.load().status != Status::Ready {
            tokio::select! {
                changed = listings.changed() => changed.ok()?,
                _ = main.closed() => return None,
            }
        }
        Some(main)
    }

    /// Compares what the server lists for clients that can be asked everything with what it lists on its main connection. The
    /// connection for it is closed at once: most servers make no difference, and most clients call few of them.
    async fn compare(&self, abilities: Abilities) {
        let Some(main) = self.listed_main().await else { return };
        if main.is_stateless() {
            return self.prepare_set(abilities.listed()).await;
        }
        // One at a time for all servers: each comparison may start a process.
        let _comparing = self.variants.comparing().await;
        let profile = ClientProfile { era: Era::Session, abilities: abilities.listed() };
        let version = &main.info().version;
        if main.declared().shared() == abilities
            || self.variants.is_compared(profile, version)
            || self.variants.is_not_comparable(version)
        {
            return;
        }
        // Others wait for their turn.
        let limit = self.connector.server.start_timeout;
        if !tokio::time::timeout(limit, self.list_for_all_abilities()).await.unwrap_or_default() {
            self.variants.could_not_compare(version);
        }
    }

    /// Lists what clients see that can be asked everything. Returns false if the server did not say.
    async fn list_for_all_abilities(&self) -> bool {
        let purpose = ConnectionPurpose {
            declared: Abilities::ALL_SHARED,
            leg: Leg::Either(Era::Session),
            signals: Arc::new(Signals::new(&Arc::default())),
            sole_client: None,
            earlier: None,
            is_trial: true,
        };
        let connected = self.connector.connect_beside(purpose).await;
        let Ok(connection) = connected.inspect_err(|error| {
            tracing::debug!(server = %self.name, %error, "cannot connect to compare the lists");
        }) else {
            return false;
        };
        let mut current = CurrentLists::default();
        let listed = current.list(&self.name, &connection, &ItemKind::ALL, self.limits.idle).await;
        let is_complete = listed.is_ok_and(|listed| listed.is_complete()) && !connection.is_stateless();
        if is_complete {
            self.variants.compare(connection.profile(), connection.info(), &current.lists).await;
        }
        connection.stop().await;
        is_complete
    }
}
