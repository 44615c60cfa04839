//! The rounds of a call: a session-based client is asked while its call runs, a stateless client gets the questions as
//! the result of its request and repeats the request with the answers.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Turn};
use super::journals::{self, Reopened};
use super::ticket::{CallFingerprint, Waiting};
use crate::backend::{CallError, Peer, forbidden_input_request, wants_more};
use crate::builtins::Handler;
use crate::calls::{ItemCall, RequestContext};
use crate::json::{Object, Raw, raw};
use crate::server::Server;
use crate::server::client::client::Client;
use crate::server::client::peer::{AskBy, ClientPeer};
use crate::server::client::question_channel::QuestionSender;
use crate::surface::Surface;
use crate::wire::RpcError;

/// How long a client may keep the state of a stateless server.
const STATE_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Makes a call, or continues the one that the ticket belongs to.
pub(crate) async fn call(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    call: ItemCall,
    ticket: Option<String>,
) -> Result<Raw, CallError> {
    if !request.retries_with_input {
        return server.gateway.calls().item(request, call).await;
    }
    let Some(ticket) = ticket else { return begin(server, peer, request, call).await };
    let fingerprint = CallFingerprint::of(&call)?;
    match server.tickets.redeem(&request.principal, &fingerprint, &ticket)? {
        Waiting::Call(number) => Box::pin(resume_conversation(server, peer, request, &call, number)).await,
        Waiting::Server { backend, name, state } => {
            let call = with_server_state(call, &request.surface, &backend, &name, &state)?;
            Box::pin(begin(server, peer, request, call)).await
        }
        Waiting::Script(open) => match Box::pin(journals::reopen(server, open, request, &call)).await? {
            Reopened::Answered(surface, journal) => {
                let request = RequestContext { surface, ..request.clone() };
                let call = ItemCall { journal: Some(journal), ..call };
                Box::pin(begin(server, peer, &request, call)).await
            }
            Reopened::Result(result) => Ok(result),
        },
    }
}

/// Makes a call for a stateless client, which may be asked something meanwhile.
async fn begin(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    call: ItemCall,
) -> Result<Raw, CallError> {
    if !peer.client().abilities.any() {
        let result = server.gateway.calls().item(request, call.clone()).await?;
        return seal_server_state(server, request, &call, peer.client(), result);
    }
    let (asking, questions) = QuestionSender::channel();
    let (client, peer) = (Arc::clone(peer.client()), peer.asked_by(AskBy::Conversation(asking)));
    let cancel = CancellationToken::new();
    let context =
        RequestContext { peer: Some(Arc::clone(&peer) as Arc<dyn Peer>), cancel: cancel.clone(), ..request.clone() };
    let (calls, its_call) = (server.gateway.calls().clone(), call.clone());
    let work = Box::pin(async move { calls.item(&context, its_call).await });
    let conversation = Conversation::new(work, questions, peer, cancel);
    Box::pin(run_until_asked(server, &client, request, &call, conversation)).await
}

/// Continues a call that waits in this process.
async fn resume_conversation(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    call: &ItemCall,
    number: u64,
) -> Result<Raw, CallError> {
    let ended = || RpcError::invalid_params("`requestState`: the call it belongs to has ended");
    let mut conversation = server.conversations.take(number).ok_or_else(ended)?;
    let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let answers = object.get("inputResponses").and_then(|answers| Object::of(answers).ok());
    conversation.peer.continue_in(peer);
    conversation.take(answers.as_ref());
    run_until_asked(server, peer.client(), request, call, conversation).await
}

/// Runs a call until it has finished, or asks something: then the questions are the result, and the call waits.
async fn run_until_asked(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    call: &ItemCall,
    conversation: Conversation,
) -> Result<Raw, CallError> {
    let conversation = match conversation.turn(&request.cancel).await {
        Turn::Done(Err(CallError::Asks(journal))) => {
            return journals::ask_in_result(server, &journal, request, call).await;
        }
        Turn::Done(outcome) => return seal_server_state(server, request, call, client, outcome?),
        Turn::Left => return Err(CallError::Cancelled),
        Turn::Asks(conversation) => conversation,
    };
    let (number, lifetime) = (server.conversations.number(), conversation.timeout());
    let fingerprint = CallFingerprint::of(call)?;
    let ticket = server.tickets.issue(&request.principal, fingerprint, Waiting::Call(number), lifetime)?;
    let result = conversation.input_required(&ticket);
    server.conversations.keep(number, client, conversation, lifetime)?;
    crate::json::valid(result).map_err(|error| RpcError::internal(&error.to_string()).into())
}

/// Wraps the `requestState` of a stateless server in a ticket, so that it comes back to that server and from this
/// client only.
fn seal_server_state(
    server: &Server,
    request: &RequestContext,
    call: &ItemCall,
    client: &Client,
    result: Raw,
) -> Result<Raw, CallError> {
    if !wants_more(&result) {
        return Ok(result);
    }
    let Some((backend, name)) = target(call, &request.surface) else { return Ok(result) };
    if let Some(reason) = forbidden_input_request(&result, client.abilities) {
        return Err(CallError::InputUnavailable { backend, reason });
    }
    let Ok(object) = Object::of(&result) else { return Ok(result) };
    // A server without state of its own gets none back.
    let Some(state) = object.get("requestState") else { return Ok(result) };
    let (backend, name) = (backend.to_string(), name.to_string());
    let waiting = Waiting::Server { backend, name, state: state.get().to_owned() };
    let ticket = server.tickets.issue(&request.principal, CallFingerprint::of(call)?, waiting, STATE_LIFETIME)?;
    Ok(object.edit().set("requestState", &raw(&ticket)).finish_raw())
}

/// The call with the server's own state, if the item is still that server's.
fn with_server_state(
    call: ItemCall,
    surface: &Surface,
    backend: &str,
    name: &str,
    state: &str,
) -> Result<ItemCall, RpcError> {
    let target = target(&call, surface);
    if !target.is_some_and(|(its_backend, its_name)| *its_backend == *backend && *its_name == *name) {
        return Err(RpcError::invalid_params("`requestState`: what it belongs to is no longer published"));
    }
    let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let state = crate::json::valid(state.to_owned()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let params = object.edit().set("requestState", &state).finish_raw();
    Ok(ItemCall { params, admitted: true, ..call })
}

/// The server that is called and its own name for the item; none for a script's handler.
fn target(call: &ItemCall, surface: &Surface) -> Option<(Arc<str>, Arc<str>)> {
    match surface.find(call.kind, &call.key).map(|entry| &entry.handler) {
        Some(Handler::Backend(target)) => Some((Arc::clone(&target.backend), Arc::clone(&target.name))),
        Some(Handler::Script(_)) => None,
        None => call.unlisted_on.as_ref().map(|backend| (Arc::clone(backend), call.key.as_str().into())),
    }
}
