//! Rounds: a stateless server that needs an answer ends the call with questions, and the call is made again with the
//! answers. For callers that do not carry this on themselves the proxy does.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use super::server_handle::Handle;
use super::tasks;
use crate::backend::call::backend_call::{Answer, Call, CallError};
use crate::backend::call::peer::{Peer, Question};
use crate::backend::transport::server_requests;
use crate::backend::transport::server_requests::ELICITATION;
use crate::json::{Needle, Object, Raw, RawRef, quote};
use crate::model::Abilities;
use crate::wire::{RpcError, code, key};

/// Rounds in which somebody is asked something.
const MOST_ROUNDS: usize = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The questions a server ended a call with.
pub(crate) struct Asked {
    pub(crate) questions: Vec<(String, String, Raw)>,
    state: Option<Raw>,
}

/// Answers by the keys of their questions.
pub(crate) type Answers = Vec<(String, Raw)>;

/// What is known after the rounds so far.
pub(crate) struct Rounds {
    asked: usize,
    pause: Duration,
    pub(crate) deadline: tokio::time::Instant,
    /// Addresses a person has agreed to visit; asking again would not make them faster.
    visited: Vec<String>,
}

impl Handle {
    /// Makes a call to its end, whatever the server asks meanwhile.
    pub(crate) async fn carry_through(&self, mut call: Call) -> Result<Answer, CallError> {
        // As it was made first; kept only when there is a second time.
        let mut original: Option<Raw> = None;
        let mut rounds = Rounds {
            asked: 0,
            pause: FIRST_PAUSE,
            deadline: tokio::time::Instant::now() + self.limit(call.timeout),
            visited: Vec::new(),
        };
        let made_a_task = self.as_task(&call).map(|params| call.params = params).is_some();
        loop {
            let outcome = self.deliver(&call).await;
            match outcome {
                Ok(answer)
                    if (made_a_task || !call.takes_tasks)
                        && let Some(task) = tasks::begun(&call, &answer.result) =>
                {
                    return Box::pin(self.see_through(&call, task, &mut rounds)).await;
                }
                Err(CallError::Rpc(error))
                    if !call.passes_questions_on && !call.declares_tasks && tasks::wants_extension(&error) =>
                {
                    call.declares_tasks = true;
                }
                Ok(answer) if !call.passes_questions_on && wants_more(&answer.result) => {
                    let asked = Asked::read(&answer.result).map_err(|reason| self.protocol(reason))?;
                    let answers = Box::pin(self.ask_all(&asked, &call, &mut rounds)).await?;
                    let original = original.get_or_insert_with(|| call.params.clone());
                    call.params = again(original, &answers, asked.state.as_deref());
                }
                Err(CallError::Rpc(error)) if error.code() == code::URL_REQUIRED && asks_urls(call.peer.as_ref()) => {
                    let asked = addresses(&error).ok_or(CallError::Rpc(error))?;
                    let answers = Box::pin(self.ask_all(&asked, &call, &mut rounds)).await?;
                    if let Some(action) = declined(&answers) {
                        return Err(self.unanswered(&format!("the person chose `{action}`")));
                    }
                }
                other => return other,
            }
        }
    }

    pub(crate) async fn ask_all(&self, asked: &Asked, call: &Call, rounds: &mut Rounds) -> Result<Answers, CallError> {
        let address = |params: &Raw| Object::of(params).ok().and_then(|params| params.string("url"));
        let pending: Vec<_> = asked.questions.iter().filter_map(|(_, _, params)| address(params)).collect();
        let only_waiting =
            pending.len() == asked.questions.len() && pending.iter().all(|url| rounds.visited.contains(url));
        if only_waiting {
            self.pause(call, rounds).await?;
            let accept = crate::json::raw(&json!({"action": "accept"}));
            return Ok(asked.questions.iter().map(|(key, ..)| (key.clone(), accept.clone())).collect());
        }
        rounds.asked += 1;
        if rounds.asked > MOST_ROUNDS {
            return Err(self.unanswered(&format!("it asked more than {MOST_ROUNDS} times")));
        }
        let Some(peer) = &call.peer else { return Err(self.unanswered("nobody can be asked")) };
        for (_, method, params) in &asked.questions {
            server_requests::permitted(peer.askable(), method, params)
                .map_err(|error| self.unanswered(&format!("it may not ask for `{method}`: {}", error.message())))?;
        }
        let patience = self.input_timeout;
        let before = tokio::time::Instant::now();
        let answers = join_all(asked.questions.iter().map(|(key, method, params)| async move {
            let question = Question { method: method.clone(), params: params.clone(), patience };
            let answer = tokio::time::timeout(patience, peer.ask(question)).await;
            let answer = answer.unwrap_or_else(|_| Err(RpcError::internal("nobody answered in time")));
            (key.clone(), method.as_str(), answer)
        }));
        let answers = tokio::select! {
            answers = answers => answers,
            () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        };
        rounds.deadline += before.elapsed();
        let mut given = Answers::new();
        for (key, method, answer) in answers {
            let value = match answer {
                Ok(answer) => bare(&answer),
                // An answer has no room for an error, but a form can be put away.
                Err(_) if method == ELICITATION => crate::json::raw(&json!({"action": "cancel"})),
                Err(error) => return Err(self.unanswered(&error.message())),
            };
            given.push((key, value));
        }
        let accepted = |key: &str| given.iter().any(|(name, answer)| name == key && action(answer) == "accept");
        rounds.visited.extend(
            asked.questions.iter().filter(|(key, ..)| accepted(key)).filter_map(|(_, _, params)| address(params)),
        );
        Ok(given)
    }

    /// Waits a little longer each time, within what a call may take.
    async fn pause(&self, call: &Call, rounds: &mut Rounds) -> Result<(), CallError> {
        let now = tokio::time::Instant::now();
        if now + rounds.pause > rounds.deadline {
            return Err(CallError::Timeout { backend: Arc::clone(&self.name), after: self.limit(call.timeout) });
        }
        tokio::select! {
            () = tokio::time::sleep(rounds.pause) => {}
            () = call.cancel.cancelled() => return Err(CallError::Cancelled),
        }
        rounds.pause = (rounds.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    fn unanswered(&self, reason: &str) -> CallError {
        CallError::Unanswered { backend: Arc::clone(&self.name), reason: reason.to_owned() }
    }

    fn protocol(&self, reason: String) -> CallError {
        CallError::Protocol { backend: Arc::clone(&self.name), reason }
    }
}

fn asks_urls(peer: Option<&Arc<dyn Peer>>) -> bool {
    peer.is_some_and(|peer| peer.askable().url && !peer.understands_url_error())
}

/// Whether a result is a question.
pub fn wants_more(result: &RawRef) -> bool {
    static INPUT_REQUIRED: Needle = Needle::new("input_required");
    INPUT_REQUIRED.is_in(result.get())
        && Object::of(result).is_ok_and(|object| object.string("resultType").as_deref() == Some("input_required"))
}

/// What a client with these abilities is asked in a result though it must not be.
pub fn asks_too_much(result: &RawRef, abilities: Abilities) -> Option<String> {
    let asked = Asked::read(result).ok()?;
    asked.questions.iter().find_map(|(_, method, params)| {
        let refused = server_requests::permitted(abilities, method, params).err()?;
        Some(format!("it may not ask for `{method}`: {}", refused.message()))
    })
}

impl Asked {
    fn read(result: &RawRef) -> Result<Self, String> {
        let asked = Self::of_task(result)?;
        if asked.questions.is_empty() && asked.state.is_none() {
            return Err("it wants another round but neither asks nor gives a state".to_owned());
        }
        Ok(asked)
    }

    /// A task may wait for answers that it was given already, and ask nothing new.
    pub(crate) fn of_task(result: &RawRef) -> Result<Self, String> {
        let object = Object::of(result).map_err(|error| error.to_string())?;
        let state = object.get("requestState").map(RawRef::to_owned);
        let mut questions = Vec::new();
        if let Some(requests) = object.get("inputRequests") {
            let requests = Object::of(requests).map_err(|error| format!("`inputRequests`: {error}"))?;
            for (key, request) in requests.iter() {
                let request = Object::of(request).map_err(|error| format!("`inputRequests`: {error}"))?;
                let method = request.string("method").ok_or("an entry of `inputRequests` has no method")?;
                let params = request.get("params").map_or_else(|| crate::json::raw(&json!({})), RawRef::to_owned);
                questions.push((key.to_owned(), method, params));
            }
        }
        Ok(Asked { questions, state })
    }
}

/// The addresses of the error that sends a person away first, as questions.
fn addresses(error: &RpcError) -> Option<Asked> {
    let data = error.data()?;
    let entries = data["elicitations"].as_array()?;
    let questions = entries.iter().enumerate().map(|(index, entry)| {
        let params = json!({"mode": "url", "message": entry["message"], "url": entry["url"]});
        (format!("url{index}"), ELICITATION.to_owned(), crate::json::raw(&params))
    });
    let questions: Vec<_> = questions.collect();
    (!questions.is_empty()).then_some(Asked { questions, state: None })
}

fn declined(answers: &Answers) -> Option<String> {
    answers.iter().map(|(_, answer)| action(answer)).find(|action| action != "accept")
}

/// What a person chose to do.
fn action(answer: &RawRef) -> String {
    Object::of(answer).ok().and_then(|answer| answer.string("action")).unwrap_or_else(|| "nothing".to_owned())
}

/// An answer without what only an envelope or an era needs.
fn bare(answer: &RawRef) -> Raw {
    match Object::of(answer) {
        Ok(object) => object.edit().remove(key::META).remove("resultType").finish_raw(),
        Err(_) => answer.to_owned(),
    }
}

/// The call as it is made again.
fn again(original: &RawRef, answers: &Answers, state: Option<&RawRef>) -> Raw {
    let Ok(object) = Object::of(original) else { return original.to_owned() };
    let mut edit = object.edit();
    edit.remove("requestState");
    let answers: Vec<String> = answers.iter().map(|(key, answer)| format!("{}:{answer}", quote(key))).collect();
    if answers.is_empty() {
        edit.remove("inputResponses");
    } else {
        edit.set("inputResponses", format!("{{{}}}", answers.join(",")));
    }
    if let Some(state) = state {
        edit.set("requestState", state.get());
    }
    edit.finish_raw()
}
