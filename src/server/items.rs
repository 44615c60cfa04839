//! A tool called, a resource read, a prompt asked for.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::conversation::{Asking, Conversation, Turn};
use super::methods::{Asked, Client, Outcome};
use super::peer::{ClientPeer, Way};
use super::ticket::{CallFingerprint, Waiting};
use super::{Server, caching, encode_for, tasks};
use crate::backend::{CallError, asks_too_much, wants_more};
use crate::builtins::Handler;
use crate::calls::CallFault;
use crate::json::{Object, Raw, RawRef, digest, raw};
use crate::model::{ItemKind, error_result};
use crate::script::JournalSnapshot;
use crate::surface::Surface;
use crate::wire::{ClientMeta, Request, Revision, RpcError, carried_meta, code, key, yield_if_large};

/// How long the state of a stateless server stays good in the client's hands.
const STATE_GOOD_FOR: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// What a request is about.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) kind: ItemKind,
    key: String,
    /// Without reserved `_meta` keys.
    pub(super) params: Raw,
    /// With which the client comes back to a question.
    ticket: Option<String>,
    token: Option<Raw>,
    /// Whether it says something of a task: one is wanted, or none.
    task: Option<bool>,
    /// The server of a resource that is not published by itself.
    unlisted: Option<Arc<str>>,
    /// Whether a task is an answer too.
    takes_tasks: bool,
    /// Whether it goes on with a call that was let through already.
    admitted: bool,
}

impl Server {
    /// A tool called, a resource read or a prompt asked for, with news on their way while it runs.
    pub(super) async fn use_item(&self, kind: ItemKind, asked: Asked<'_>) -> Outcome {
        let stateless = asked.client.revision.is_stateless();
        let used = match Use::read(kind, asked.request, stateless) {
            Ok(used) => used,
            Err(error) => return Some(Err(error)),
        };
        yield_if_large(Some(&used.params)).await;
        let (revision, sees_urls) = (asked.client.revision, asked.client.abilities.url);
        let (key, client) = (used.key.clone(), asked.client);
        let outcome = match self.surface(client).await {
            Ok(surface) => {
                let unlisted = self.owner_of_unlisted(&surface, kind, &key, client);
                let takes_tasks = match kind {
                    ItemKind::Tool => match tasks::taken(&surface, &key, used.task == Some(true), client) {
                        Ok(takes_tasks) => takes_tasks,
                        Err(error) => return Some(Err(error)),
                    },
                    _ => false,
                };
                let stays = used.task.is_none() || takes_tasks && !stateless;
                let params = if stays { used.params } else { tasks::without(used.params) };
                let outcome = self.carry_out(&surface, Use { unlisted, takes_tasks, params, ..used }, asked).await;
                let returned = outcome.map(|outcome| self.returned(&surface, kind, &key, client, outcome));
                match returned {
                    Ok(Ok(result)) if takes_tasks => self.with_sealed_task(&surface, &key, client, result).map(Ok),
                    other => other,
                }
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(Err(CallFault::Backend(CallError::Rpc(error)))) if error.code() == code::URL_REQUIRED => {
                Some(Err(url_required(revision, sees_urls, error)))
            }
            Ok(outcome) => told(outcome, kind, &key, revision),
            Err(error) => Some(Err(error)),
        }
    }

    async fn carry_out(
        &self,
        surface: &Arc<Surface>,
        used: Use,
        asked: Asked<'_>,
    ) -> Result<Result<Raw, CallFault>, RpcError> {
        if !asked.client.revision.is_stateless() {
            return Ok(self.use_once(surface, &used, asked, Way::Request, None).await);
        }
        let Some(ticket) = &used.ticket else { return self.converse(surface, &used, asked, None).await };
        match self.tickets.redeem(&asked.client.principal, &used.fingerprint()?, ticket)? {
            Waiting::Call(number) => Box::pin(self.go_on(number, surface, &used, asked)).await,
            Waiting::Server { backend, name, state } => {
                let used = used.with_state(surface, &backend, &name, &state)?;
                Box::pin(self.converse(surface, &used, asked, None)).await
            }
            Waiting::Script(open) => Box::pin(self.resume(open, surface, &used, asked)).await,
        }
    }

    /// Uses the item in one go.
    async fn use_once(
        &self,
        surface: &Arc<Surface>,
        used: &Use,
        asked: Asked<'_>,
        way: Way,
        past: Option<JournalSnapshot>,
    ) -> Result<Raw, CallFault> {
        let peer = ClientPeer::new(asked.client, asked.sink, used.token.clone(), way);
        let mut caller = asked.client.caller(asked.cancel, Some(peer));
        (caller.takes_tasks, caller.admitted, caller.past) = (used.takes_tasks, used.admitted, past);
        caller.policy = Some(self.policy.clone());
        self.call(surface, used, caller).await
    }

    async fn call(&self, surface: &Arc<Surface>, used: &Use, caller: crate::calls::Caller) -> Result<Raw, CallFault> {
        if let Some(server) = &used.unlisted {
            return self.gateway.calls().unlisted(surface, server, &used.key, used.params.clone(), caller).await;
        }
        self.gateway.calls().item(surface, used.kind, &used.key, used.params.clone(), caller).await
    }

    /// Uses the item for a client that can be asked something meanwhile.
    pub(super) async fn converse(
        &self,
        surface: &Arc<Surface>,
        used: &Use,
        asked: Asked<'_>,
        past: Option<JournalSnapshot>,
    ) -> Result<Result<Raw, CallFault>, RpcError> {
        let client = asked.client;
        if !client.abilities.any() {
            let outcome = self.use_once(surface, used, asked, Way::None, past).await;
            return self.sealed(outcome, surface, used, client);
        }
        let (asking, questions) = Asking::channel();
        let peer = ClientPeer::new(asked.client, asked.sink, used.token.clone(), Way::Conversation(asking));
        let cancel = tokio_util::sync::CancellationToken::new();
        let mut caller = asked.client.caller(cancel.clone(), Some(Arc::clone(&peer)));
        (caller.takes_tasks, caller.admitted, caller.past) = (used.takes_tasks, used.admitted, past);
        let (server, its_surface, its_use) = (self.clone(), Arc::clone(surface), used.clone());
        let work = Box::pin(async move { server.call(&its_surface, &its_use, caller).await });
        let conversation = Conversation::new(work, questions, peer, cancel);
        Box::pin(self.take_turn(conversation, surface, used, asked)).await
    }

    /// Goes on with a call that waited for this client.
    async fn go_on(
        &self,
        number: u64,
        surface: &Arc<Surface>,
        used: &Use,
        asked: Asked<'_>,
    ) -> Result<Result<Raw, CallFault>, RpcError> {
        let unknown = || RpcError::invalid_params("`requestState`: the call it belongs to has ended");
        let mut conversation = self.conversations.take(number).ok_or_else(unknown)?;
        let object = Object::of(&used.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let answers = object.get("inputResponses").and_then(|answers| Object::of(answers).ok());
        conversation.peer.goes_on_in(asked.client, asked.sink, used.token.clone());
        conversation.take(answers.as_ref());
        self.take_turn(conversation, surface, used, asked).await
    }

    async fn take_turn(
        &self,
        conversation: Conversation,
        surface: &Arc<Surface>,
        used: &Use,
        asked: Asked<'_>,
    ) -> Result<Result<Raw, CallFault>, RpcError> {
        let conversation = match conversation.turn(&asked.cancel).await {
            Turn::Done(Err(CallFault::Asks(past))) => {
                return self.ask_in_result(&past, surface, used, asked.client).await;
            }
            Turn::Done(outcome) => return self.sealed(outcome, surface, used, asked.client),
            Turn::Left => return Ok(Err(CallFault::Cancelled)),
            Turn::Asks(conversation) => conversation,
        };
        let (number, good_for) = (self.conversations.number(), conversation.patience());
        let ticket =
            self.tickets.issue(&asked.client.principal, used.fingerprint()?, Waiting::Call(number), good_for)?;
        let result = conversation.input_required(&ticket);
        self.conversations.keep(number, asked.client, conversation, good_for)?;
        crate::json::valid(result).map(Ok).map_err(|error| RpcError::internal(&error.to_string()))
    }

    /// The state of a stateless server, wrapped so that it finds its way back there and serves nobody else.
    fn sealed(
        &self,
        outcome: Result<Raw, CallFault>,
        surface: &Arc<Surface>,
        used: &Use,
        client: &Client,
    ) -> Result<Result<Raw, CallFault>, RpcError> {
        let Some(result) = outcome.as_ref().ok().filter(|result| wants_more(result)) else { return Ok(outcome) };
        let Some((backend, name)) = used.target(surface) else { return Ok(outcome) };
        if let Some(reason) = asks_too_much(result, client.abilities) {
            return Ok(Err(CallFault::Backend(CallError::Unanswered { backend, reason })));
        }
        let Ok(object) = Object::of(result) else { return Ok(outcome) };
        // Where the server gave none the client sends none.
        let Some(state) = object.get("requestState") else { return Ok(outcome) };
        let (backend, name) = (backend.to_string(), name.to_string());
        let waiting = Waiting::Server { backend, name, state: state.get().to_owned() };
        let ticket = self.tickets.issue(&client.principal, used.fingerprint()?, waiting, STATE_GOOD_FOR)?;
        Ok(Ok(object.edit().set("requestState", &raw(&ticket)).finish_raw()))
    }
}

impl Use {
    fn read(kind: ItemKind, request: &Request, stateless: bool) -> Result<Self, RpcError> {
        let member = kind.use_member();
        let missing = || RpcError::invalid_params(&format!("`{member}` is missing or not a string"));
        let invalid = |error: crate::json::ObjectError| RpcError::invalid_params(&error.to_string());
        let body = request.params.as_ref().ok_or_else(missing)?;
        let sent = Object::of(body).map_err(invalid)?;
        let name = sent.string(member).ok_or_else(missing)?;
        if sent.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(RpcError::invalid_params("`arguments` must be an object"));
        }
        let ticket = if stateless { ticket(&sent)? } else { None };
        let (params, token) = match sent.get(key::META) {
            None => (Raw::clone(body), None),
            Some(meta) => {
                let token = ClientMeta::progress_token(meta)?;
                let params = match carried_meta(meta) {
                    Some(Cow::Borrowed(_)) => Raw::clone(body),
                    Some(Cow::Owned(rest)) => sent.edit().set(key::META, &rest).finish_raw(),
                    None => sent.edit().remove(key::META).finish_raw(),
                };
                (params, token)
            }
        };
        let task = sent.get("task").map(|task| task.get() != "null");
        Ok(Use { kind, key: name, ticket, token, params, task, takes_tasks: false, unlisted: None, admitted: false })
    }

    /// The server that is called, and how it calls what is used; none for a handler of a script.
    fn target(&self, surface: &Surface) -> Option<(Arc<str>, Arc<str>)> {
        match surface.find(self.kind, &self.key).map(|entry| &entry.handler) {
            Some(Handler::Backend(target)) => Some((Arc::clone(&target.backend), Arc::clone(&target.name))),
            Some(Handler::Script(_)) => None,
            None => self.unlisted.as_ref().map(|backend| (Arc::clone(backend), self.key.as_str().into())),
        }
    }

    /// What the client is doing, for its ticket. Arguments that mean the same are the same.
    pub(super) fn fingerprint(&self) -> Result<CallFingerprint, RpcError> {
        let object = Object::of(&self.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let arguments = object.get("arguments").map_or("{}", RawRef::get);
        let arguments: Value =
            serde_json::from_str(arguments).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        Ok(CallFingerprint {
            method: self.kind.use_method().to_owned(),
            key: self.key.clone(),
            digest: digest(&arguments),
        })
    }

    /// The same with the server's own state, if what is published is still that server's.
    fn with_state(self, surface: &Surface, backend: &str, name: &str, state: &str) -> Result<Self, RpcError> {
        let target = self.target(surface);
        if !target.is_some_and(|(its_backend, its_name)| *its_backend == *backend && *its_name == *name) {
            return Err(RpcError::invalid_params("`requestState`: what it belongs to is no longer published"));
        }
        let object = Object::of(&self.params).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let state =
            crate::json::valid(state.to_owned()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let params = object.edit().set("requestState", &state).finish_raw();
        Ok(Use { params, admitted: true, ..self })
    }
}

/// With what a stateless client comes back to a question. Looked at with its answers: what cannot be an answer does not
/// use a ticket up.
fn ticket(sent: &Object<'_>) -> Result<Option<String>, RpcError> {
    let Some(state) = sent.get("requestState") else { return Ok(None) };
    if let Some(answers) = sent.get("inputResponses") {
        let answers =
            Object::of(answers).map_err(|error| RpcError::invalid_params(&format!("`inputResponses`: {error}")))?;
        if answers.iter().any(|(_, answer)| !answer.get().starts_with('{')) {
            return Err(RpcError::invalid_params("`inputResponses`: every answer must be an object"));
        }
    }
    let text = serde_json::from_str(state.get());
    text.map(Some).map_err(|_| RpcError::invalid_params("`requestState` must be a string"))
}

pub(super) fn told(outcome: Result<Raw, CallFault>, kind: ItemKind, key: &str, revision: Revision) -> Outcome {
    Some(match outcome {
        Ok(result) if kind == ItemKind::Resource => caching::contents(revision, result),
        Ok(result) => encode_for::result(revision, result),
        Err(CallFault::Cancelled) => return None,
        // Whoever cannot be asked in a result is never asked so.
        Err(CallFault::Asks(_)) => Err(RpcError::internal("a question came to nobody")),
        Err(CallFault::Unknown) => Err(unknown(kind, key, revision)),
        Err(CallFault::Failed { message, data: None }) => Err(RpcError::internal(&message)),
        Err(CallFault::Failed { message, data: Some(data) }) => {
            Err(RpcError::with_data(code::INTERNAL, &message, &data))
        }
        Err(CallFault::Backend(CallError::Rpc(error))) => Err(encode_for::error(revision, kind, key, error)),
        // What the proxy itself ran into with a tool is a result the model can read and act on.
        Err(CallFault::Backend(error)) if kind == ItemKind::Tool => {
            encode_for::result(revision, error_result(&error.to_string()))
        }
        Err(CallFault::Backend(error)) => Err(RpcError::internal(&error.to_string())),
    })
}

fn unknown(kind: ItemKind, key: &str, revision: Revision) -> RpcError {
    match kind {
        ItemKind::Resource | ItemKind::ResourceTemplate => encode_for::resource_not_found(revision, key),
        _ => RpcError::invalid_params(&format!("unknown {}: {key}", kind.noun())),
    }
}

/// A person must visit an address first, and the proxy cannot send them there.
fn url_required(revision: Revision, sees_urls: bool, error: RpcError) -> RpcError {
    if revision.is_stateless() {
        let data = json!({"requiredCapabilities": {"elicitation": {"url": {}}}});
        return RpcError::with_data(code::MISSING_CAPABILITY, &error.message(), &data);
    }
    if revision == Revision::V2025_11_25 && sees_urls {
        return error;
    }
    let data = error.data().unwrap_or_default();
    let addresses: Vec<&str> =
        data["elicitations"].as_array().into_iter().flatten().filter_map(|entry| entry["url"].as_str()).collect();
    RpcError::internal(&format!("{}: {}", error.message(), addresses.join(", ")))
}
