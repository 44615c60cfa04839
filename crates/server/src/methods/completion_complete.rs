//! `completion/complete`: suggestions for an argument of a prompt or a resource template.

use std::sync::Arc;

use super::MethodOutcome;
use super::item::encode;
use super::kept_results;
use crate::Server;
use crate::client::peer::{AskBy, ClientPeer};
use crate::era::missing_capability;
use proxy_engine::calls::{Completed, RequestContext};
use proxy_mcp_client::Peer;
use proxy_model::{ItemKind, no_completion};
use proxy_wire::{Request, RpcError, without_reserved};

pub(super) async fn complete(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let client = peer.client();
    let Some(params) = message.params.as_deref() else {
        return Some(Err(RpcError::invalid_params("`ref` is missing")));
    };
    let params = without_reserved(params);
    if kept_results::completes(server, client, &request.surface, &params) {
        return encode(Ok(no_completion()), ItemKind::ResourceTemplate, "", client.revision);
    }
    // A completion must not ask the client anything.
    let peer = peer.asked_by(AskBy::Nothing);
    let request = RequestContext { peer: Some(peer as Arc<dyn Peer>), ..request.clone() };
    let Completed { kind, key, outcome } = match server.gateway.calls().complete(&request, &params).await {
        Ok(completed) => completed,
        Err(error) => return Some(Err(error)),
    };
    let outcome = outcome.or_else(|fault| missing_capability::resolve(client.revision, client.declared(), kind, fault));
    encode(outcome, kind, &key, client.revision)
}
