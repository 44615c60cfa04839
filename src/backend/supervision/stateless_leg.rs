//! The stateless leg of a server that is met in a session. The first stateless client opens it; its lists are followed for
//! as long as its connection is used.

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
        match self.variants.stateless_leg() {
            LegState::Known(_) => {}
            state if matches!(state, LegState::Cached(_)) || !self.is_awaited() => {
                let server = Arc::clone(self);
                tokio::spawn(async move { server.look_for_stateless_leg().await });
            }
            _ => self.look_for_stateless_leg().await,
        }
    }

    /// Lists what clients with these abilities see on the connection that their calls will use, if that is known to depend on
    /// abilities.
    async fn prepare_abilities(&self, abilities: Abilities, person: &Owner) {
        if self.session_scoped || !self.variants.varies() {
            return;
        }
        let Ok(main) = self.connection(&CancellationToken::new(), self.call_limits(None), None).await else { return };
        let profile = ClientProfile { era: Era::Session, abilities: abilities.listed() };
        if main.is_stateless() || main.declared().shared() == abilities || self.variants.shows(profile) {
            return;
        }
        let key = SideKey { owner: None, abilities, era: Era::Session };
        let client = SideClient { person: Some(person.clone()), ..SideClient::default() };
        if self.side_connections.get(&key, &client, main.signals()).await.is_ok() {
            self.variants.published(profile).await;
        }
    }

    /// Whether clients wait for the server: it is there, or nothing is known of it yet.
    fn is_awaited(&self) -> bool {
        matches!(self.view.load().status, Status::Ready | Status::Starting)
    }

    /// Looks for a stateless leg beside the main connection, and waits for its lists.
    async fn look_for_stateless_leg(&self) {
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

    /// The era in which a request of a client is sent. Behind a URL, each method may use another one.
    pub(super) fn era_for(&self, client: Era, method: Option<&str>, main: &Connection) -> Era {
        if client == Era::Session || main.is_stateless() {
            return main.era();
        }
        let view = self.view.load();
        let Some(leg) = view.variant(ClientProfile::STATELESS) else { return main.era() };
        let only_in_sessions = |capability: &str| main.info().declares(capability) && !leg.info.declares(capability);
        match method.and_then(capability_of) {
            Some(capability) if view.kind == BackendKind::Http && only_in_sessions(capability) => Era::Session,
            _ => Era::Stateless,
        }
    }
}
