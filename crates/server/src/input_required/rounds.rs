//! Runs a call in rounds. A session-based client is asked while its call runs: one round. A stateless client receives
//! the questions as the result of its request and retries the request with the answers: one round per retry.

use std::sync::Arc;
use std::time::Duration;

use super::conversation::{Conversation, RoundOutcome};
use super::journals::{self, ResumeOutcome};
use super::ticket::{CallFingerprint, TicketTarget, UnsentCall, now};
use crate::Server;
use crate::client::peer::{AskBy, ClientPeer, action};
use crate::client::question_channel::QuestionSender;
use crate::client::state::Client;
use proxy_builtins::Handler;
use proxy_engine::calls::{ItemCall, RequestContext, failed};
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, RawRef, raw};
use proxy_mcp_client::{CallError, Cancellation, Peer, forbidden_input_request, wants_more};
use proxy_wire::RpcError;

/// How long a client may hold the `requestState` of a stateless server.
const STATE_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The answer to a client whose groups or claims changed while the question was open: the call runs with the earlier ones.
const ANOTHER_LOOK: &str = "your permissions changed while the call waited for your answer; call again";

/// Makes a call, or continues the call that the ticket refers to.
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
    let store = server.gateway.calls().store.clone();
    let redeemed = server.tickets.redeem(&store, &request.principal, &fingerprint, &ticket).await?;
    if let Some(recording) = &request.recording {
        recording.set_call_id(redeemed.call);
    }
    count_answers(server, &call);
    match redeemed.target {
        TicketTarget::Call(number) => {
            let ended = || RpcError::invalid_params("`requestState` refers to a call that has ended");
            let conversation = server.conversations.take(number).ok_or_else(ended)?;
            Box::pin(resume_conversation(server, peer, request, &call, conversation)).await
        }
        TicketTarget::LogIn(unsent) => {
            let is_here = unsent.process == server.tickets.process();
            match is_here.then(|| server.conversations.take(unsent.number)).flatten() {
                Some(conversation) => Box::pin(resume_conversation(server, peer, request, &call, conversation)).await,
                None => Box::pin(take_over(server, peer, request, call, unsent.until)).await,
            }
        }
        TicketTarget::Server { backend, name, state, told } => {
            let call = with_server_state(call, &request.surface, &backend, &name, &state)?;
            let call = ItemCall { continues: Some(told), ..call };
            if let Some(recording) = &request.recording {
                answers(&call).iter().for_each(|answer| recording.answered(Some(answer)));
            }
            Box::pin(begin(server, peer, request, call)).await
        }
        TicketTarget::Script(open) => match Box::pin(journals::resume(server, open, request, &call)).await? {
            ResumeOutcome::Answered(surface, journal) => {
                let request = RequestContext { surface, ..request.clone() };
                let params = without_answers(&call.params);
                let call = ItemCall { journal: Some(journal), params, ..call };
                Box::pin(begin(server, peer, &request, call)).await
            }
            ResumeOutcome::Result(result) => Ok(result),
        },
    }
}

/// The params without the answers to the proxy's own questions, which are in the journal: a stateless server would take them
/// for answers to its own.
fn without_answers(params: &Raw) -> Raw {
    match Object::of(params) {
        Ok(object) => object.edit().remove("inputResponses").remove("requestState").finish_raw(),
        Err(_) => Raw::clone(params),
    }
}

/// Counts the answers that a stateless client sends with its retry.
fn count_answers(server: &Server, call: &ItemCall) {
    let Ok(params) = Object::of(&call.params) else { return };
    let answers = params.get("inputResponses").and_then(|answers| Object::of(answers).ok());
    for (_, answer) in answers.iter().flat_map(Object::iter) {
        server.telemetry.proxy().question_answered(action(Some(answer)));
    }
}

/// Makes a call for a stateless client. If the client accepts questions, the call runs in a conversation.
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
    let conversation = asking_call(server, peer, request, &call);
    Box::pin(run_until_asked(server, peer.client(), request, &call, conversation)).await
}

/// Makes a call whose process has ended while the person logged in: it was not sent. The answer to the question there is the
/// answer to the question here, so that the client is not asked twice in a row.
async fn take_over(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    call: ItemCall,
    until: u64,
) -> Result<Raw, CallError> {
    let answer = answers(&call).into_iter().next();
    let call = ItemCall { params: without_answers(&call.params), ..call };
    let mut conversation = asking_call(server, peer, request, &call);
    conversation.log_in_until = Some(until);
    match conversation.run_round(&request.cancel).await {
        RoundOutcome::Asks(mut asking) if asking.waits_for_log_in() => {
            asking.give_up_late_log_in();
            if let Some(answer) = answer {
                asking.answer_log_in(&answer);
            }
            run_until_asked(server, peer.client(), request, &call, asking).await
        }
        outcome => after_round(server, peer.client(), request, &call, outcome).await,
    }
}

/// A call that can ask its client.
fn asking_call(server: &Server, peer: &Arc<ClientPeer>, request: &RequestContext, call: &ItemCall) -> Conversation {
    let (asking, questions) = QuestionSender::channel();
    let peer = peer.asked_by(AskBy::Conversation(asking));
    let cancel = Cancellation::default();
    let context =
        RequestContext { peer: Some(Arc::clone(&peer) as Arc<dyn Peer>), cancel: cancel.clone(), ..request.clone() };
    let (calls, item_call) = (server.gateway.calls().clone(), call.clone());
    let running = Box::pin(async move { calls.item(&context, item_call).await });
    Conversation::new(running, questions, peer, cancel)
}

/// Continues a call that is suspended in this process.
async fn resume_conversation(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    call: &ItemCall,
    mut conversation: Conversation,
) -> Result<Raw, CallError> {
    // The call is cancelled when it is dropped here.
    if let Err(refused) = server.gateway.calls().continue_permit(request, call) {
        return refused;
    }
    if conversation.peer.client().principal != request.principal {
        return failed(call.kind, ANOTHER_LOOK.to_owned(), None);
    }
    let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let answers = object.get("inputResponses").and_then(|answers| Object::of(answers).ok());
    conversation.peer.continue_in(peer);
    conversation.give_up_late_log_in();
    conversation.take_answers(answers.as_ref());
    run_until_asked(server, peer.client(), request, call, conversation).await
}

/// Runs a call until it finishes or asks questions. In the latter case the questions are the result, and the call is
/// suspended.
async fn run_until_asked(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    call: &ItemCall,
    conversation: Conversation,
) -> Result<Raw, CallError> {
    let outcome = conversation.run_round(&request.cancel).await;
    after_round(server, client, request, call, outcome).await
}

async fn after_round(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    call: &ItemCall,
    outcome: RoundOutcome,
) -> Result<Raw, CallError> {
    let mut conversation = match outcome {
        RoundOutcome::Done(Err(CallError::Asks(journal))) => {
            return journals::ask_in_result(server, &journal, request, call).await;
        }
        RoundOutcome::Done(outcome) => return seal_server_state(server, request, call, client, outcome?),
        RoundOutcome::Cancelled => return Err(CallError::Cancelled),
        RoundOutcome::Asks(conversation) => conversation,
    };
    let (number, lifetime) = (server.conversations.next_number(), conversation.timeout());
    let fingerprint = CallFingerprint::of(call)?;
    let store = &server.gateway.calls().store;
    let is_unsent = conversation.waits_for_log_in() && target(call, &request.surface).is_some();
    let waiting = if is_unsent {
        let until = *conversation.log_in_until.get_or_insert_with(|| now() + lifetime.as_secs());
        let process = server.tickets.process().to_owned();
        TicketTarget::LogIn(UnsentCall { process, number, until })
    } else {
        // The next log-in has its own time.
        conversation.log_in_until = None;
        TicketTarget::Call(number)
    };
    let ticket = server.tickets.issue(store, &request.principal, fingerprint, waiting, request.call_id(), lifetime)?;
    let result = conversation.input_required(&ticket);
    let is_movable = is_unsent && server.replicas.store().is_some();
    server.conversations.suspend(number, client, conversation, lifetime, is_movable)?;
    proxy_json::valid(result).map_err(|error| RpcError::internal(&error.to_string()).into())
}

/// Wraps the `requestState` of a stateless server in a ticket, so that only this principal can return it, and only to
/// that server.
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
    let result = server.gateway.attribution().result(&backend, result);
    if let Some(recording) = &request.recording {
        messages(&result).iter().for_each(|message| recording.asked(message));
    }
    let Ok(object) = Object::of(&result) else { return Ok(result) };
    // Without `requestState` there is nothing to wrap.
    let Some(state) = object.get("requestState") else { return Ok(result) };
    let (backend, name) = (backend.to_string(), name.to_string());
    let waiting = TicketTarget::Server { backend, name, state: state.get().to_owned(), told: request.told.get() };
    let (fingerprint, store) = (CallFingerprint::of(call)?, &server.gateway.calls().store);
    let ticket =
        server.tickets.issue(store, &request.principal, fingerprint, waiting, request.call_id(), STATE_LIFETIME)?;
    Ok(object.edit().set("requestState", &raw(&ticket)).finish_raw())
}

/// The answers that a request brings.
fn answers(call: &ItemCall) -> Vec<Raw> {
    let params = Object::of(&call.params).ok();
    let answers = params.as_ref().and_then(|params| Object::of(params.get("inputResponses")?).ok());
    answers.iter().flat_map(|answers| answers.iter()).map(|(_, answer)| answer.to_owned()).collect()
}

/// What a result asks.
fn messages(result: &RawRef) -> Vec<String> {
    let read = || {
        let requests = Object::of(Object::of(result).ok()?.get("inputRequests")?).ok()?;
        let message = |request: &RawRef| Object::of(Object::of(request).ok()?.get("params")?).ok()?.string("message");
        Some(requests.iter().filter_map(|(_, request)| message(request)).collect())
    };
    read().unwrap_or_default()
}

/// Puts the server's own `requestState` into the call. Fails if the item no longer belongs to that server.
fn with_server_state(
    call: ItemCall,
    surface: &Surface,
    backend: &str,
    name: &str,
    state: &str,
) -> Result<ItemCall, RpcError> {
    let target = target(&call, surface);
    if !target.is_some_and(|(current, current_name)| *current == *backend && *current_name == *name) {
        return Err(RpcError::invalid_params("`requestState` refers to an item that is no longer published"));
    }
    let object = Object::of(&call.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let state = proxy_json::valid(state.to_owned()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let params = object.edit().set("requestState", &state).finish_raw();
    Ok(ItemCall { params, ..call })
}

/// The server of the item and the server's own name for it; `None` for a script handler.
fn target(call: &ItemCall, surface: &Surface) -> Option<(Arc<str>, Arc<str>)> {
    match surface.find(call.kind, &call.key).map(|entry| &entry.handler) {
        Some(Handler::Backend(target)) => Some((Arc::clone(&target.backend), Arc::clone(&target.name))),
        Some(Handler::Script(_)) => None,
        None => call.unlisted_on.as_ref().map(|backend| (Arc::clone(backend), call.key.as_str().into())),
    }
}
