//! `resources/read`: reads a published resource, or a resource that the client knows from a link.

use std::sync::Arc;

use super::{MethodOutcome, item, kept_results};
use crate::Server;
use crate::client::peer::ClientPeer;
use proxy_engine::calls::RequestContext;
use proxy_model::ItemKind;
use proxy_wire::Request;

pub(super) async fn read(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let mut sent = match item::read(ItemKind::Resource, message, request) {
        Ok(sent) => sent,
        Err(error) => return Some(Err(error)),
    };
    sent.call.own = kept_results::named(server, peer.client(), &request.surface, ItemKind::Resource, &sent.call.key);
    if sent.call.own.is_none() {
        server.learn_link(&request.surface, &sent.call.key, peer.client()).await;
        sent.call.unlisted_on = server.server_of_unlisted(&request.surface, &sent.call.key, peer.client());
    }
    sent.call.params = super::tasks::without_task_if(sent.task, sent.call.params);
    item::answer(server, peer, request, sent).await
}
