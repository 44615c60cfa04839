//! Answers the input requests of a stateless server: each round ends a call with requests, asks the client, and repeats the
//! call with the responses.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;

use super::questions::{InputRequired, InputResponses, action, not_permitted};
use crate::call::{Asker, BackendCall, CallError, Question, TimeLimit};
use crate::supervision::SupervisedServer;
use crate::transport::{ELICITATION, check_permitted};
use proxy_base::backoff::Backoff;
use proxy_json::{Object, Raw, RawRef};
use proxy_wire::{RpcError, key};

/// The maximum number of rounds in which the client is asked.
const MAX_ROUNDS: usize = 10;
/// The delays before a call is repeated while the user visits a URL.
const FIRST_DELAY: Duration = Duration::from_millis(250);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// The state of a call across its rounds.
pub(super) struct InputRounds {
    rounds: usize,
    backoff: Backoff,
    /// When the call times out. Extended by the time the client takes to answer.
    pub(super) deadline: Instant,
    /// URLs that the user has already agreed to visit.
    visited_urls: Vec<String>,
}

impl InputRounds {
    pub(super) fn new(timeout: Duration) -> Self {
        InputRounds {
            rounds: 0,
            backoff: Backoff::new(FIRST_DELAY, MAX_DELAY),
            deadline: Instant::now() + timeout,
            visited_urls: Vec::new(),
        }
    }

    /// Asks the client everything the server requests. If the server only waits until the user has visited URLs, waits a
    /// while instead of asking again.
    pub(super) async fn ask_all(
        &mut self,
        server: &SupervisedServer,
        required: &InputRequired,
        call: &BackendCall,
    ) -> Result<InputResponses, CallError> {
        let waits_for_urls =
            required.requests.iter().all(|request| request.url().is_some_and(|url| self.visited_urls.contains(&url)));
        if waits_for_urls {
            self.pause(server, call).await?;
            let accept = proxy_json::raw(&json!({"action": "accept"}));
            return Ok(required.requests.iter().map(|request| (request.key.clone(), accept.clone())).collect());
        }
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(unanswered(server, &format!("more than {MAX_ROUNDS} rounds of input requests")));
        }
        let responses = self.ask(server, required, call).await?;
        let accepted = |key: &str| responses.iter().any(|(name, answer)| name == key && action(answer) == "accept");
        let visited = required.requests.iter().filter(|request| accepted(&request.key));
        self.visited_urls.extend(visited.filter_map(|request| request.url()));
        Ok(responses)
    }

    async fn ask(
        &mut self,
        server: &SupervisedServer,
        required: &InputRequired,
        call: &BackendCall,
    ) -> Result<InputResponses, CallError> {
        let Some(peer) = &call.peer else { return Err(unanswered(server, "there is no client to ask")) };
        for request in &required.requests {
            check_permitted(peer.askable(), &request.method, &request.params)
                .map_err(|error| unanswered(server, &not_permitted(&request.method, &error)))?;
        }
        let timeout = server.limits.input;
        let started = Instant::now();
        let answers = join_all(required.requests.iter().map(|request| async move {
            let method = request.method.clone();
            let params = server.attribution().params(&server.name, &method, request.params.clone());
            let question = Question { method, params, answer_timeout: timeout, asker: Asker::Server };
            let answer = tokio::time::timeout(timeout, peer.ask(question)).await;
            let answer = answer.unwrap_or_else(|_| Err(RpcError::internal("the client did not answer in time")));
            (request, answer)
        }));
        let answers = tokio::select! {
            answers = answers => answers,
            () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        };
        self.deadline += started.elapsed();
        let mut responses = InputResponses::new();
        for (request, answer) in answers {
            let response = match answer {
                Ok(answer) => without_envelope(&answer),
                // A response cannot carry an error, but an elicitation can be cancelled.
                Err(_) if request.method == ELICITATION => proxy_json::raw(&json!({"action": "cancel"})),
                Err(error) => return Err(unanswered(server, &error.message())),
            };
            responses.push((request.key.clone(), response));
        }
        Ok(responses)
    }

    /// Waits before the call is repeated, unless that would exceed its deadline.
    async fn pause(&mut self, server: &SupervisedServer, call: &BackendCall) -> Result<(), CallError> {
        let delay = self.backoff.next_delay();
        if Instant::now() + delay > self.deadline {
            return Err(timeout_error(server, call));
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => Ok(()),
            () = call.cancel.cancelled() => Err(CallError::Cancelled),
        }
    }
}

/// Removes the members of an answer that belong to its JSON-RPC envelope or its revision.
fn without_envelope(answer: &RawRef) -> Raw {
    match Object::of(answer) {
        Ok(object) => object.edit().remove(key::META).remove("resultType").finish_raw(),
        Err(_) => answer.to_owned(),
    }
}

pub(super) fn unanswered(server: &SupervisedServer, reason: &str) -> CallError {
    CallError::InputUnavailable { backend: Arc::clone(&server.name), reason: reason.to_owned() }
}

/// The total timeout of a call has passed.
pub(super) fn timeout_error(server: &SupervisedServer, call: &BackendCall) -> CallError {
    let after = server.total_timeout(call.timeout);
    let is_callers = call.timeout.is_some_and(|own| own <= after);
    let limit = if is_callers { TimeLimit::Caller } else { TimeLimit::Total };
    CallError::Timeout { backend: Arc::clone(&server.name), after, limit }
}
