//! Fetches the lists for clients whose era or abilities differ from the main connection's, when the first such client
//! connects.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::lists::variants::LegState;
use super::side_connections::SideClient;
use super::side_key::SideKey;
use super::supervised::SupervisedServer;
use crate::call::MissingLists;
use crate::connection::Connection;
use proxy_model::{Abilities, ClientProfile, Era, Owner, Status};

impl SupervisedServer {
    /// Fetches the lists for clients of this profile. If they are in the cache, completes at once and checks them in the
    /// background.
    pub(crate) async fn prepare(self: &Arc<Self>, profile: ClientProfile, person: &Owner) {
        // Held until the preparation has begun to hold it, too.
        let Some(_hold) = self.holds.hold_unless_resting() else {
            return self.holds.note_missed(profile, person);
        };
        let is_awaited = match profile.era {
            Era::Session => self.variants.varies(),
            Era::Stateless => !self.knows_lists_for(profile),
        };
        let preparation = self.spawn_preparation(profile, person);
        if is_awaited && self.is_awaited() {
            let _ = preparation.await;
        }
    }

    /// Completes when it is known what clients of this profile see, or that it cannot be known now.
    pub(crate) async fn list_for(self: &Arc<Self>, profile: ClientProfile, person: &Owner) {
        let _ = self.spawn_preparation(profile, person).await;
    }

    /// Goes on if the client stops waiting: others need the lists as well.
    fn spawn_preparation(self: &Arc<Self>, profile: ClientProfile, person: &Owner) -> JoinHandle<()> {
        let (server, person) = (Arc::clone(self), person.clone());
        let hold = self.holds.hold_unless_resting();
        tokio::spawn(async move {
            let Some(_hold) = hold else { return };
            match profile.era {
                Era::Session => server.prepare_abilities(profile.abilities.shared(), &person).await,
                Era::Stateless => server.prepare_stateless(profile.abilities, &person).await,
            }
        })
    }

    /// Why the lists shown to clients of this profile may be wrong for them. `None` if their lists are known, even if only
    /// from the cache, or if the server has no lists to show.
    pub(crate) fn missing_lists(&self, profile: ClientProfile) -> Option<MissingLists> {
        let status = self.view.load().status;
        if status == Status::Resting
            || self.rests()
            || status.is_down()
            || status == Status::Starting
            || self.knows_lists_for(profile)
        {
            return None;
        }
        Some(if self.variants.varies() { MissingLists::Differing } else { MissingLists::Unknown })
    }

    fn knows_lists_for(&self, profile: ClientProfile) -> bool {
        match profile.era {
            Era::Session if self.shares_capabilities() => true,
            Era::Session => {
                let abilities = profile.abilities.shared();
                let is_main = |main: Arc<Connection>| main.is_stateless() || main.declared().shared() == abilities;
                let is_shown =
                    self.view.load().status == Status::Ready && self.live_connection(None).is_some_and(is_main);
                is_shown || self.variants.knows(ClientProfile { era: Era::Session, abilities: abilities.listed() })
            }
            Era::Stateless => {
                self.variants.stateless_leg() != LegState::Unknown && self.variants.knows_set(profile.abilities)
            }
        }
    }

    /// Fetches the lists for clients with these abilities if the lists are known to depend on abilities; otherwise finds
    /// out whether they do.
    pub(super) async fn prepare_abilities(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        if self.shares_capabilities() {
            return;
        }
        match self.variants.varies() {
            true => self.show_abilities(abilities, person).await,
            false => self.compare_and_show(abilities, person).await,
        }
    }

    /// Fetches the lists for clients with these abilities on the connection that their calls will use. With `scope:
    /// session`, calls use a connection per client; the lists then come from a shared one.
    pub(super) async fn show_abilities(&self, abilities: Abilities, person: &Owner) {
        let Some(main) = self.listed_main().await else { return };
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
    fn is_awaited(&self) -> bool {
        matches!(self.view.load().status, Status::Ready | Status::Starting)
    }

    /// Finds out what stateless clients with these abilities see.
    async fn prepare_stateless(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        Arc::clone(self).look_for_stateless_leg().await;
        match self.uses_stateless_connection().await {
            true => self.prepare_set(abilities).await,
            false => self.prepare_abilities(abilities.shared(), person).await,
        }
    }

    /// Whether requests of stateless clients are stateless behind the proxy as well.
    async fn uses_stateless_connection(&self) -> bool {
        let main = self.connection_unless_resting().await;
        self.view.load().stateless_leg().is_some() || main.is_some_and(|main| main.is_stateless())
    }

    /// Lists for clients with these abilities on the stateless connection of the server, and waits for the lists.
    pub(super) async fn prepare_set(&self, abilities: Abilities) {
        if abilities == Abilities::NONE {
            return;
        }
        let Some(main) = self.connection_unless_resting().await else { return };
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
