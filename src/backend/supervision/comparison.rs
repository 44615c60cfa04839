//! Finds out whether a server lists something else for clients that can be asked more. The first client with a set of
//! abilities does not wait for it; the set is remembered, so that it is looked at once.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::lists::current_lists::CurrentLists;
use super::supervised::SupervisedServer;
use crate::backend::connection::{ConnectionPurpose, Leg, ServerMemory};
use crate::backend::transport::Signals;
use crate::model::{Abilities, ClientProfile, Era, ItemKind, Owner, Status};

impl SupervisedServer {
    /// Lists, in the background, what clients with these abilities see, if that was never done.
    pub(super) fn compare_in_background(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        let (server, person) = (Arc::clone(self), person.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = server.compare(abilities) => {}
                () = server.stop.cancelled() => {}
            }
            if server.variants.varies() {
                server.show_abilities(abilities, &person).await;
            }
        });
    }

    /// Compares what the server lists for these abilities with what it lists on its main connection. The connection for it
    /// is closed at once: most servers make no difference, and most clients call few of them.
    async fn compare(&self, abilities: Abilities) {
        let profile = ClientProfile { era: Era::Session, abilities: abilities.listed() };
        let mut listings = self.freshness.subscribe();
        let Ok(main) = self.connection(&CancellationToken::new(), self.call_limits(None), None).await else { return };
        while self.view.load().status != Status::Ready && listings.changed().await.is_ok() {}
        if main.is_stateless() {
            return self.prepare_set(abilities.listed()).await;
        }
        // One at a time for all servers: each comparison may start a process.
        let _comparing = self.variants.comparing().await;
        if main.declared().shared() == abilities || self.variants.is_compared(profile, &main.info().version) {
            return;
        }
        let _slot = self.connector.start_slot().await;
        let signals = Arc::new(Signals::new(&Arc::default()));
        let purpose =
            ConnectionPurpose { declared: abilities, leg: Leg::Either(Era::Session), signals, sole_client: None };
        let connected = self.connector.connect(None, &mut ServerMemory::default(), purpose).await;
        let Ok(connection) = connected.inspect_err(|error| {
            tracing::debug!(server = %self.name, %error, "cannot connect to compare the lists");
        }) else {
            return;
        };
        let mut current = CurrentLists::default();
        let listed = current.list(&self.name, &connection, &ItemKind::ALL, self.limits.idle).await;
        if listed.is_ok_and(|listed| listed.is_complete()) && !connection.is_stateless() {
            self.variants.compare(profile, connection.info(), &current.lists).await;
        }
        connection.stop().await;
    }
}
