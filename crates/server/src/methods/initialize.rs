//! `initialize`: the handshake of a session.

use std::time::Instant;

use serde_json::{Value, json};
use tracing::Level;

use super::capabilities;
use crate::Server;
use crate::client::state::{Client, ClientSession};
use proxy_json::{Object, Raw, RawRef};
use proxy_model::{Abilities, ClientInfo, Principal};
use proxy_wire::{Request, Revision, RpcError};

/// The outcome of a handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) revision: Revision,
    /// The requests that the client accepts.
    pub(crate) abilities: Abilities,
    pub(crate) client: ClientInfo,
}

impl Default for Handshake {
    /// For a client that has not sent `initialize`.
    fn default() -> Self {
        Handshake {
            revision: Revision::LATEST_SESSION,
            abilities: Abilities::default(),
            client: ClientInfo { protocol_version: Revision::LATEST_SESSION.as_str(), ..ClientInfo::default() },
        }
    }
}

impl Handshake {
    /// The client of the session that begins with this handshake.
    pub(crate) fn client(self, principal: Principal) -> Client {
        Client::of_session(self.revision, self.abilities, self.client, principal)
    }
}

/// Reads the params of `initialize` and negotiates the revision.
pub(crate) fn negotiate(message: &Request) -> Result<Handshake, RpcError> {
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let requested = object
        .string("protocolVersion")
        .ok_or_else(|| RpcError::invalid_params("`protocolVersion` is missing or not a string"))?;
    let revision = Revision::negotiate(&requested);
    let client = ClientInfo::new(revision.as_str(), object.get("clientInfo"), object.get("capabilities"))
        .map_err(|size| client_info_too_large("`clientInfo` and `capabilities`", size))?;
    let declared = object.get("capabilities").map_or("{}", RawRef::get);
    let declared: Value = serde_json::from_str(declared).unwrap_or_default();
    Ok(Handshake { revision, abilities: Abilities::read(&declared), client })
}

/// The error for a client that says too much about itself. `names` are the members, as the client's revision calls them.
pub(crate) fn client_info_too_large(names: &str, size: usize) -> RpcError {
    let limit = ClientInfo::MAX_BYTES;
    RpcError::invalid_params(&format!("{names} together have {size} bytes; the limit is {limit}"))
}

/// The result of `initialize`.
pub(crate) async fn result(server: &Server, client: &Client) -> Raw {
    let started = Instant::now();
    let (surface, revision) = (capabilities::described_surface(server, &client.surface_handle).await, client.revision);
    if let (Some(ClientSession { seen_lists, .. }), Some(surface)) = (client.session(), &surface) {
        seen_lists.set_if_none(|| surface.list_digests());
    }
    let mut result = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": capabilities::capabilities(server, surface.as_deref(), client),
        "serverInfo": capabilities::server_info(surface.as_deref()),
    });
    if let Some(surface) = surface.filter(|surface| !surface.instructions().is_empty()) {
        result["instructions"] = Value::from(surface.instructions());
    }
    server.telemetry.operation("initialize", None).record(started.elapsed(), None);
    log(client, started);
    proxy_json::raw(&result)
}

/// Logs that a session has begun.
fn log(client: &Client, started: Instant) {
    if !tracing::enabled!(target: "request", Level::DEBUG) {
        return;
    }
    let info = client.info.implementation.as_deref().and_then(|info| Object::of(info).ok());
    let member = |name| info.as_ref().and_then(|info| info.string(name));
    let name = [member("name"), member("version")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let (ms, version) = (u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX), client.revision.as_str());
    tracing::debug!(
        target: "request", method = "initialize", name, ms, outcome = "ok",
        "initialize {name} ({version}): ok in {ms} ms"
    );
}
