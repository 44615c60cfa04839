//! What clients see that are of another era or have other abilities than the main connection is found out when the first of
//! them comes.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::lists::variants::LegState;
use super::side_connections::SideClient;
use super::side_key::SideKey;
use super::supervised::SupervisedServer;
use crate::model::{Abilities, ClientProfile, Era, Owner, Status};

impl SupervisedServer {
    /// Finds out what clients of this profile see. If an earlier process has found out, completes at once and checks it in
    /// the background.
    pub(crate) async fn prepare(self: &Arc<Self>, profile: ClientProfile, person: &Owner) {
        if self.rests() {
            return;
        }
        if profile.era == Era::Session {
            let (server, person, abilities) = (Arc::clone(self), person.clone(), profile.abilities.shared());
            // Goes on if this client stops waiting: others need the lists as well.
            let listing = tokio::spawn(async move { server.prepare_abilities(abilities, &person).await });
            if self.is_awaited() {
                let _ = listing.await;
            }
            return;
        }
        self.prepare_stateless(profile.abilities, person).await;
    }

    /// Lists what clients with these abilities see if that is known to depend on abilities, and else finds out whether it
    /// does.
    pub(super) async fn prepare_abilities(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        match self.variants.varies() {
            true => self.show_abilities(abilities, person).await,
            false => self.compare_in_background(abilities, person),
        }
    }

    /// Lists what clients with these abilities see on the connection that their calls will use. With `scope: session` that
    /// connection belongs to one client; what is listed is that of a shared one.
    pub(super) async fn show_abilities(&self, abilities: Abilities, person: &Owner) {
        let Ok(main) = self.connection(&CancellationToken::new(), self.call_limits(None), None).await else { return };
        let profile = ClientProfile { era: Era::Session, abilities: abilities.listed() };
        if main.is_stateless() {
            return self.prepare_set(abilities.listed()).await;
        }
        if main.declared().shared() == abilities || self.variants.shows(profile) {
            return;
        }
        let key = SideKey { owner: None, abilities, era: Era::Session };
        let client = SideClient { person: Some(person.clone()), ..SideClient::default() };
        if let Ok(connection) = self.side_connections.get(&key, &client, main.signals()).await {
            tokio::select! {
                () = self.variants.published(connection.profile()) => {}
                _ = connection.closed() => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// Whether clients wait for the server: it is there, or nothing is known of it yet.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.view.load().status, Status::Ready | Status::Starting)
    }

    /// Finds out what stateless clients with these abilities see. If an earlier process has found out, completes at once and
    /// checks it in the background.
    pub(super) async fn prepare_stateless(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        let is_known = self.variants.stateless_leg() != LegState::Unknown && self.variants.knows_set(abilities);
        let (server, person) = (Arc::clone(self), person.clone());
        // Goes on if this client stops waiting: others need the leg as well.
        let preparation = tokio::spawn(async move {
            Arc::clone(&server).look_for_stateless_leg().await;
            match server.uses_stateless_connection().await {
                true => server.prepare_set(abilities).await,
                false => server.prepare_abilities(abilities.shared(), &person).await,
            }
        });
        if !is_known && self.is_awaited() {
            let _ = preparation.await;
        }
    }

    /// Whether requests of stateless clients are stateless behind the proxy as well.
    async fn uses_stateless_connection(&self) -> bool {
        let main = self.connection(&CancellationToken::new(), self.call_limits(None), None).await;
        self.view.load().stateless_leg().is_some() || main.is_ok_and(|main| main.is_stateless())
    }

    /// Lists for clients with these abilities on the stateless connection of the server, and waits for the lists.
    pub(super) async fn prepare_set(&self, abilities: Abilities) {
        if abilities == Abilities::NONE {
            return;
        }
        let Ok(main) = self.connection(&CancellationToken::new(), self.call_limits(None), None).await else { return };
        let connection = match main.is_stateless() {
            true => main,
            false => match self.open_side_connection(&SideKey::STATELESS, main.signals()).await {
                Ok(leg) => leg,
                Err(_) => return,
            },
        };
        let profile = ClientProfile { era: Era::Stateless, abilities };
        let is_settled = !self.variants.varies() && self.variants.is_compared(profile, &connection.info().version);
        if is_settled || !self.variants.want_set(abilities) {
            return;
        }
        connection.signals().mark_all();
        tokio::select! {
            () = self.variants.published(profile) => {}
            _ = connection.closed() => {}
            () = self.stop.cancelled() => {}
        }
    }
}
