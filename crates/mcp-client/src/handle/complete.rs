//! Carries a call to its final result: answers the server's input requests and waits for its tasks, as far as the caller
//! does not do so itself.

use std::sync::Arc;

use super::connection_choice::Requester;
use super::dispatch::dispatch;
use super::input_rounds::{InputRounds, unanswered};
use super::questions::{InputRequired, InputResponses, action, encode_responses, wants_more};
use super::task_answers::started;
use super::tasks;
use super::waking::hold_awake;
use crate::call::{Answer, BackendCall, CallError, Peer};
use crate::supervision::SupervisedServer;
use proxy_json::{Object, Raw, RawRef};
use proxy_wire::code;

pub(super) async fn call_to_completion(
    server: &Arc<SupervisedServer>,
    mut call: BackendCall,
) -> Result<Answer, CallError> {
    let requester = call.peer.as_ref().map_or(Requester::Proxy, Requester::Caller);
    let _hold = hold_awake(server, requester, &call.method, call.cancel.token()).await?;
    // The params of the first request, recorded when the call is repeated.
    let mut original: Option<Raw> = None;
    let mut rounds = InputRounds::new(server.total_timeout(call.timeout));
    let made_a_task = tasks::as_task(server, &call).map(|params| call.params = params).is_some();
    loop {
        match dispatch(server, &call).await {
            Ok(answer)
                if (made_a_task || !call.accepts_tasks)
                    && let Some(task) = started(&call, &answer.result) =>
            {
                return Box::pin(tasks::wait_for_result(server, &call, task, &mut rounds)).await;
            }
            Err(CallError::Rpc(error))
                if !call.forwards_input_requests && !call.declares_tasks && tasks::requires_extension(&error) =>
            {
                call.declares_tasks = true;
            }
            Ok(answer) if !call.forwards_input_requests && wants_more(&answer.result) => {
                let required = InputRequired::parse(&answer.result)
                    .map_err(|reason| CallError::Protocol { backend: Arc::clone(&server.name), reason })?;
                let responses = Box::pin(rounds.ask_all(server, &required, &call)).await?;
                let original = original.get_or_insert_with(|| call.params.clone());
                call.params = with_responses(original, &responses, required.state.as_deref());
            }
            Err(CallError::Rpc(error)) if error.code() == code::URL_REQUIRED && asks_urls(call.peer.as_ref()) => {
                let required = InputRequired::parse_url_error(&error).ok_or(CallError::Rpc(error))?;
                let responses = Box::pin(rounds.ask_all(server, &required, &call)).await?;
                if let Some(action) = declined(&responses) {
                    return Err(unanswered(server, &format!("the user chose `{action}`")));
                }
            }
            Err(CallError::Rpc(error)) => return Err(CallError::Rpc(server.attribution().error(&server.name, error))),
            other => return other,
        }
    }
}

/// Whether the proxy asks the user to visit a URL in place of the client.
fn asks_urls(peer: Option<&Arc<dyn Peer>>) -> bool {
    peer.is_some_and(|peer| peer.askable().url && !peer.understands_url_error())
}

/// The first action that is not `accept`.
fn declined(responses: &InputResponses) -> Option<String> {
    responses.iter().map(|(_, response)| action(response)).find(|action| action != "accept")
}

/// The params of a repeated call.
fn with_responses(original: &RawRef, responses: &InputResponses, state: Option<&RawRef>) -> Raw {
    let Ok(object) = Object::of(original) else { return original.to_owned() };
    let mut edit = object.edit();
    edit.remove("requestState");
    if responses.is_empty() {
        edit.remove("inputResponses");
    } else {
        edit.set("inputResponses", &encode_responses(responses));
    }
    if let Some(state) = state {
        edit.set("requestState", state);
    }
    edit.finish_raw()
}
