//! `tools/call`: calls a tool, possibly as a task.

use std::sync::Arc;

use super::{MethodOutcome, item, kept_results, tasks};
use crate::Server;
use crate::client::peer::ClientPeer;
use proxy_engine::calls::RequestContext;
use proxy_model::ItemKind;
use proxy_wire::Request;

pub(super) async fn call(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    message: &Request,
) -> MethodOutcome {
    let mut sent = match item::read(ItemKind::Tool, message, request) {
        Ok(sent) => sent,
        Err(error) => return Some(Err(error)),
    };
    let client = peer.client();
    sent.call.own = kept_results::named(server, client, &request.surface, ItemKind::Tool, &sent.call.key);
    if sent.call.own.is_some() {
        sent.call.params = tasks::without_task_if(sent.task, sent.call.params);
        return item::answer(server, peer, request, sent).await;
    }
    let accepts_task = match tasks::accepted(&request.surface, &sent.call.key, sent.task == Some(true), client) {
        Ok(accepts_task) => accepts_task,
        Err(error) => return Some(Err(error)),
    };
    let keeps_task = sent.task.is_none() || accepts_task && !client.revision.is_stateless();
    if !keeps_task {
        sent.call.params = tasks::without_task(sent.call.params);
    }
    sent.call.accepts_task = accepts_task;
    item::answer(server, peer, request, sent).await
}
