//! What clients of other profiles than that of the main connection see is found out when the first of them comes. For
//! stateless clients of a server that is met in a session that is its stateless leg, whose lists are followed for as long
//! as its connection is used.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::side_connections::{SideClient, SideKey};
use super::supervised::SupervisedServer;
use super::variants::LegState;
use crate::backend::connection::Connection;
use crate::model::{Abilities, BackendKind, ClientProfile, Era, Owner, Status, capability_of};

impl SideKey {
    /// The connection that all stateless clients share.
    pub(super) const STATELESS: SideKey = SideKey { owner: None, abilities: Abilities::NONE, era: Era::Stateless };
}

impl SupervisedServer {
    /// Finds out what clients of this profile see. If an earlier process has found out, completes at once and checks it in
    /// the background.
    pub(crate) async fn prepare(self: &Arc<Self>, profile: ClientProfile, person: &Owner) {
        if profile.era == Era::Session {
            let abilities = profile.abilities.shared();
            return match self.is_awaited() {
                true => self.prepare_abilities(abilities, person).await,
                false => {
                    let (server, person) = (Arc::clone(self), person.clone());
                    tokio::spawn(async move { server.prepare_abilities(abilities, &person).await });
                }
            };
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
        if self.side_connections.get(&key, &client, main.signals()).await.is_ok() {
            self.variants.published(profile).await;
        }
    }

    /// Whether clients wait for the server: it is there, or nothing is known of it yet.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.view.load().status, Status::Ready | Status::Starting)
    }

    /// Looks for a stateless leg beside the main connection, and waits for its lists.
    pub(super) async fn look_for_stateless_leg(&self) {
        let _looking = self.variants.looking.lock().await;
        if matches!(self.variants.stateless_leg(), LegState::Known(_)) {
            return;
        }
        let Ok(main) = self.connection(&CancellationToken::new(), self.call_limits(None), None).await else { return };
        if main.is_stateless() {
            return self.variants.main_serves_all();
        }
        let opened = self.side_connections.get(&SideKey::STATELESS, &SideClient::default(), main.signals()).await;
        match opened {
            Ok(_) => self.variants.stateless_leg_known().await,
            Err(error) => tracing::debug!(server = %self.name, ?error, "there is no stateless leg"),
        }
    }

    /// Finds out what stateless clients with these abilities see. If an earlier process has found out, completes at once and
    /// checks it in the background.
    pub(super) async fn prepare_stateless(self: &Arc<Self>, abilities: Abilities, person: &Owner) {
        let (server, person) = (Arc::clone(self), person.clone());
        let preparation = async move {
            server.look_for_stateless_leg().await;
            match server.uses_stateless_connection().await {
                true => server.prepare_set(abilities).await,
                false => server.prepare_abilities(abilities.shared(), &person).await,
            }
        };
        let is_known = self.variants.stateless_leg() != LegState::Unknown && self.variants.knows_set(abilities);
        if is_known || !self.is_awaited() {
            tokio::spawn(preparation);
        } else {
            preparation.await;
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
        self.variants.published(profile).await;
    }

    /// The era in which a request of a client is sent. Behind a URL, each method may use another one.
    pub(super) fn era_for(&self, client: Era, method: Option<&str>, main: &Connection) -> Era {
        if client == Era::Session || main.is_stateless() {
            return main.era();
        }
        let view = self.view.load();
        let Some(leg) = view.stateless_leg() else { return main.era() };
        let only_in_sessions = |capability: &str| main.info().declares(capability) && !leg.info.declares(capability);
        match method.and_then(capability_of) {
            Some(capability) if view.kind == BackendKind::Http && only_in_sessions(capability) => Era::Session,
            _ => Era::Stateless,
        }
    }
}
