//! The stateless leg: a second, stateless connection to a server whose main connection is a session. The first stateless
//! client opens it. Its lists are followed for as long as it is used.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::lists::variants::LegState;
use super::side_connections::SideClient;
use super::side_key::SideKey;
use super::supervised::SupervisedServer;
use crate::connection::Connection;
use proxy_base::backoff::Backoff;
use proxy_model::{BackendKind, Era, capability_of};

/// The delays before a server that could not be asked for its stateless leg is asked again.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);

impl SupervisedServer {
    /// Looks for a stateless leg, and waits for its lists. If the server cannot be asked, goes on in the background.
    pub(super) async fn look_for_stateless_leg(self: Arc<Self>) {
        if matches!(self.variants.stateless_leg(), LegState::Known(_)) {
            return;
        }
        let is_settled = match self.connection_unless_resting().await {
            Some(main) => self.settle_stateless_leg(&main).await,
            None => false,
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
                let Some(_hold) = self.holds.hold_unless_resting() else { continue };
                let Some(main) = main else { continue };
                if self.settle_stateless_leg(&main).await {
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
            Err(error) => tracing::debug!(server = %self.name, ?error, "no stateless connection is available"),
        }
        matches!(self.variants.stateless_leg(), LegState::Known(_))
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
