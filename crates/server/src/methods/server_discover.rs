//! `server/discover`: the supported versions and capabilities for a stateless client, which has no handshake.

use serde_json::{Value, json};

use super::capabilities;
use crate::Server;
use crate::client::state::Client;
use crate::era::encode_for;
use proxy_json::Raw;
use proxy_wire::{Revision, RpcError};

pub(super) async fn discover(server: &Server, client: &Client) -> Result<Raw, RpcError> {
    let surface = capabilities::described_surface(server, &client.surface_handle).await;
    let mut result = json!({
        "supportedVersions": Revision::supported_names(),
        "capabilities": capabilities::capabilities(server, surface.as_deref(), client),
        "ttlMs": 0,
        "cacheScope": "private",
    });
    if let Some(surface) = surface.as_ref().filter(|surface| !surface.instructions().is_empty()) {
        result["instructions"] = Value::from(surface.instructions());
    }
    let info = capabilities::server_info(surface.as_deref());
    encode_for::discovery(proxy_json::raw(&result), &proxy_json::raw(&info))
}
