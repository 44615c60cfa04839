//! The connected clients, for `proxy status`.

use proxy_model::operator_api::ClientStatus;
use std::sync::Weak;
use std::time::Instant;

use parking_lot::Mutex;

use crate::Server;
use crate::client::state::Client;

/// The clients with sessions, and when they connected. The session owns the client.
#[derive(Debug, Default)]
pub(crate) struct ConnectedClients(Mutex<Vec<(Weak<Client>, Instant)>>);

impl ConnectedClients {
    pub(crate) fn add(&self, client: Weak<Client>) {
        let mut all = self.0.lock();
        // Removes ended sessions only when the vector would grow, which is cheap and bounds its size.
        if all.len() == all.capacity() {
            all.retain(|(client, _)| client.strong_count() > 0);
        }
        all.push((client, Instant::now()));
    }

    /// Replaces the client of a session.
    pub(crate) fn replace(&self, client: &Weak<Client>, by: Weak<Client>) {
        if let Some(entry) = self.0.lock().iter_mut().find(|(known, _)| known.ptr_eq(client)) {
            entry.0 = by;
        }
    }
}

/// The row of limits of a client; empty if it has none.
fn row_of(server: &Server, client: &Client) -> String {
    let surface = server.gateway.surface_now(&client.surface_handle);
    let row = surface.as_ref().and_then(|surface| surface.dialect_of(&client.info));
    row.map(|dialect| dialect.row.to_string()).unwrap_or_default()
}

impl Server {
    /// The clients with a session, oldest first. Stateless clients are not connected between their requests.
    pub fn clients(&self) -> Vec<ClientStatus> {
        let all = self.clients.0.lock();
        let connected = all.iter().filter_map(|(client, since)| Some((client.upgrade()?, since)));
        let described = connected.map(|(client, since)| ClientStatus {
            name: client.info.name(),
            version: client.info.version(),
            protocol_version: client.revision.as_str().to_owned(),
            user: client.principal.sub().to_owned(),
            profile: client.principal.profile().map(ToString::to_string).unwrap_or_default(),
            row: row_of(self, &client),
            connected_seconds: since.elapsed().as_secs(),
        });
        described.collect()
    }
}
