//! Who is connected, for whoever asks how the proxy is.

use parking_lot::Mutex;
use std::sync::Weak;
use std::time::Instant;

use serde_json::{Value, json};

use crate::server::Server;
use crate::server::client::client::Client;

/// The clients that have sessions, as long as their sessions hold them.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<Vec<(Weak<Client>, Instant)>>);

impl Clients {
    pub(crate) fn add(&self, client: Weak<Client>) {
        let mut all = self.0.lock();
        // Now and then is enough.
        if all.len() == all.capacity() {
            all.retain(|(client, _)| client.strong_count() > 0);
        }
        all.push((client, Instant::now()));
    }
}

impl Server {
    /// Those with a session, oldest first. A stateless client is known only while it asks something.
    pub fn clients(&self) -> Vec<Value> {
        let all = self.clients.0.lock();
        let there = all.iter().filter_map(|(client, since)| Some((client.upgrade()?, since)));
        let shown = there.map(|(client, since)| {
            json!({
                "name": client.info.name(),
                "version": client.info.version(),
                "protocolVersion": client.revision.as_str(),
                "user": client.principal.sub.as_ref(),
                "connectedSeconds": since.elapsed().as_secs(),
            })
        });
        shown.collect()
    }
}
