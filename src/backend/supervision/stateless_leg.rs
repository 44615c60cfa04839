//! What clients of other profiles than that of the main connection see is found out when the first of them comes. For
//! stateless clients of a server that is met in a session that is its stateless leg, whose lists are followed for as long
//! as its connection is used.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::side_connections::{SideClient, SideKey};
use super::supervised::SupervisedServer;
use super::variants::LegState;
use crate::backend::connection::Connection;
use crate::backoff::Backoff;
use crate::model::{Abilities, BackendKind, ClientProfile, Era, Owner, Status, capability_of};

/// The delays before a server that could not be asked for its stateless leg is asked again.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);

impl SideKey {
    /// The connection that all stateless clients share.
    pub(super) const STATELESS: SideKey = SideKey { owner: None, abilities: Abilities::NONE, era: Era::Stateless };
}

impl SupervisedServer {
    /// Finds out what clients of this profile see. If an earlier process has found out, completes at once and checks it in
    /// the background.
    pub(crate) async fn prepare(self: &Arc<Self>, profile: ClientProfile, person: &Owner) {
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

    /// Looks for a stateless leg, and waits for its lists. If the server cannot be asked, goes on in the background.
    async fn look_for_stateless_leg(self: Arc<Self>) {
        if matches!(self.variants.stateless_leg(), LegState::Known(_)) {
            return;
        }
        let main = self.connection(&CancellationToken::new(), self.call_limits(None), None).await;
        let is_settled = match main {
            Ok(main) => self.settle_stateless_leg(&main).await,
            Err(_) => false,
        };
        if !is_settled && !self.variants.searching.swap(true, Ordering::Relaxed) {
            tokio::spawn(self.keep_looking());
        }
    }

    /// Looks again, with growing delays, while the server is connected.
    async fn keep_looking(self: Arc<Self>) {
        let (mut state, mut backoff) = (self.state.clone(), Backoff::new(FIRST_DELAY, MAX_DELAY));
        let search = async {
            loop {
                tokio::time::sleep(backoff.next_delay()).await;
                // Does not make the supervisor reconnect: no client waits for this.
                let connected = state.wait_for(|state| state.connection.is_some()).await;
                let Ok(main) = connected.map(|state| state.connection.clone()) else { return };
                if let Some(main) = main
                    && self.settle_stateless_leg(&main).await
                {
                    return;
                }
            }
        };
        tokio::select! {
            () = search => {}
            () = self.stop.cancelled() => {}
        }
        self.variants.searching.store(false, Ordering::Relaxed);
    }

    /// Finds out whether there is a stateless leg beside the main connection. Returns false if the server did not say.
    async fn settle_stateless_leg(&self, main: &Connection) -> bool {
        let _looking = self.variants.looking.lock().await;
        if matches!(self.variants.stateless_leg(), LegState::Known(_)) {
            return true;
        }
        if main.is_stateless() {
            self.variants.main_serves_all();
            return true;
        }
        let opened = self.side_connections.get(&SideKey::STATELESS, &SideClient::default(), main.signals()).await;
        match opened {
            Ok(connection) => tokio::select! {
                () = self.variants.stateless_leg_known() => {}
                _ = connection.closed() => {}
                () = self.stop.cancelled() => {}
            },
            Err(error) => tracing::debug!(server = %self.name, ?error, "there is no stateless leg"),
        }
        matches!(self.variants.stateless_leg(), LegState::Known(_))
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
