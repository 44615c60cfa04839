//! The common part of `tools/call`, `resources/read` and `prompts/get`: reads the params, makes the call, and encodes
//! its outcome for the client's revision.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;

use super::{MethodOutcome, tasks};
use crate::Server;
use crate::client::peer::ClientPeer;
use crate::client::state::Client;
use crate::era::{blocks, caching, encode_for, missing_capability};
use crate::input_required::rounds;
use proxy_engine::calls::{ItemCall, RequestContext};
use proxy_json::{Object, Raw, raw};
use proxy_mcp_client::CallError;
use proxy_model::{ItemKind, error_result};
use proxy_wire::{ClientMeta, Request, Revision, RpcError, carried_meta, code, key, yield_if_large};

/// The member of `_meta`, or of an error's data, that says where to log in.
const LOG_IN: &str = "proxy/logIn";

/// A call as the client sent it.
pub(super) struct SentCall {
    pub(super) call: ItemCall,
    /// The `requestState` with which the client answers a question.
    ticket: Option<String>,
    progress_token: Option<Raw>,
    /// `None` if the member `task` is absent; otherwise whether it requests a task, which `null` does not.
    pub(super) task: Option<bool>,
}

/// Reads the params of a call.
pub(super) fn read(kind: ItemKind, message: &Request, request: &RequestContext) -> Result<SentCall, RpcError> {
    let member = kind.use_member();
    let missing = || RpcError::invalid_params(&format!("`{member}` is missing or not a string"));
    let invalid = |error: proxy_json::ObjectError| RpcError::invalid_params(&error.to_string());
    let body = message.params.as_ref().ok_or_else(missing)?;
    let sent = Object::of(body).map_err(invalid)?;
    let name = sent.string(member).ok_or_else(missing)?;
    if sent.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err(RpcError::invalid_params("`arguments` must be an object"));
    }
    let ticket = if request.retries_with_input { ticket(&sent)? } else { None };
    let (mut edit, mut progress_token) = (sent.edit(), None);
    if let Some(meta) = sent.get(key::META) {
        progress_token = ClientMeta::progress_token(meta)?;
        match carried_meta(meta) {
            Some(Cow::Borrowed(_)) => {}
            Some(Cow::Owned(rest)) => drop(edit.set(key::META, &rest)),
            None => drop(edit.remove(key::META)),
        }
    }
    if !request.retries_with_input {
        // Only the proxy continues a call of a session. A stateless server would trust what it gets here.
        edit.remove("requestState").remove("inputResponses");
    }
    let params = if edit.is_empty() { Raw::clone(body) } else { edit.finish_raw() };
    let task = sent.get("task").map(|task| task.get() != "null");
    let ambiguous = |problem: String| RpcError::invalid_params(&format!("`arguments`: {problem}"));
    let (call, is_renamed) = ItemCall::of_client(request, kind, &name, params).map_err(ambiguous)?;
    if is_renamed && let Some(recording) = &request.recording {
        recording.note(|noted| noted.params = Some(Raw::clone(&call.params)));
    }
    Ok(SentCall { call, ticket, progress_token, task })
}

/// The `requestState` of a stateless client. Its answers are validated here, so that a malformed answer does not use
/// the ticket up.
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

/// Makes the call and encodes its outcome.
pub(super) async fn answer(
    server: &Server,
    peer: &Arc<ClientPeer>,
    request: &RequestContext,
    sent: SentCall,
) -> MethodOutcome {
    yield_if_large(Some(&sent.call.params)).await;
    let (kind, key, accepts_task) = (sent.call.kind, sent.call.key.clone(), sent.call.accepts_task);
    let client = Arc::clone(peer.client());
    let is_own = sent.call.own.is_some();
    if is_own {
        request.record_own_item(kind, &key);
    } else {
        request.record_item(kind, &key);
    }
    let params = (kind == ItemKind::Tool && !is_own).then(|| Raw::clone(&sent.call.params));
    peer.set_progress_token(sent.progress_token);
    let outcome = rounds::call(server, peer, request, sent.call, sent.ticket).await;
    let outcome = match outcome {
        Err(CallError::Unknown) if kind == ItemKind::Tool => {
            let told = server.gateway.logged_in(&client.surface_handle, &request.surface, &key);
            told.ok_or(CallError::Unknown)
        }
        outcome => outcome,
    };
    let outcome = match outcome {
        Ok(result) if !is_own => Ok(post_process(server, request, kind, &key, &client, result)),
        outcome => outcome,
    };
    let outcome = match (outcome, params) {
        // After the links of the server were remembered: ours is none of them.
        (Ok(result), Some(params)) if server.results.may_be_large(result.get().len()) => {
            Ok(Box::pin(server.gateway.calls().fitted(request, &key, &params, result)).await)
        }
        (outcome, _) => outcome,
    };
    let outcome = outcome.map(|result| private_if_personal(server, request, kind, result));
    let outcome = outcome.or_else(|fault| missing_capability::resolve(client.revision, client.declared(), kind, fault));
    let outcome = match outcome {
        Ok(result) if accepts_task => tasks::with_sealed_id(server, request, &key, result).map_err(CallError::from),
        other => other,
    };
    match outcome {
        Err(CallError::Rpc(error)) if error.code() == code::URL_REQUIRED => {
            Some(Err(url_required(client.revision, client.abilities.url, error)))
        }
        outcome => encode(outcome, kind, &key, client.revision),
    }
}

/// Remembers the resource links in a result, and converts its content blocks for the client's revision.
fn post_process(
    server: &Server,
    request: &RequestContext,
    kind: ItemKind,
    key: &str,
    client: &Client,
    result: Raw,
) -> Raw {
    if blocks::has_links(&result)
        && let Some(links) = &client.links
        && let Some(origin) = request.surface.find(kind, key).and_then(|entry| entry.origin.as_ref())
    {
        let uris = links.remember(&origin.backend, &result);
        if client.is_known_elsewhere() {
            server.replicas.share_links(client.link_owner(), uris, &origin.backend);
        }
    }
    blocks::encode_for(client.revision, kind, result)
}

/// A resource that policies or flow rules decide about, or that may be of one person, must not end up in a shared cache, whatever its server
/// says.
fn private_if_personal(server: &Server, request: &RequestContext, kind: ItemKind, result: Raw) -> Raw {
    let is_personal = || {
        request.surface.is_permitted_view()
            || request.surface.flow().is_some()
            || server.gateway.people_see_differently()
    };
    if kind != ItemKind::Resource || !is_personal() {
        return result;
    }
    match Object::of(&result) {
        Ok(object) if object.get("cacheScope").is_some() => caching::private(&object),
        _ => result,
    }
}

/// Encodes the outcome of a call for the client's revision.
pub(super) fn encode(outcome: Result<Raw, CallError>, kind: ItemKind, key: &str, revision: Revision) -> MethodOutcome {
    Some(match outcome {
        Ok(result) if kind == ItemKind::Resource => caching::contents(revision, result),
        Ok(result) => encode_for::result(revision, result),
        Err(CallError::Cancelled) => return None,
        Err(CallError::Rejected(error)) => Err(error),
        // Cannot happen: `rounds` turns the questions into a result, or asks the client and continues.
        Err(CallError::Asks(_)) => Err(RpcError::internal("the client cannot be asked for input during this request")),
        Err(CallError::Unknown) => Err(unknown(kind, key, revision)),
        Err(CallError::Failed { message, data: None }) => Err(RpcError::internal(&message)),
        Err(CallError::Failed { message, data: Some(data) }) => {
            Err(RpcError::with_data(code::INTERNAL, &message, &data))
        }
        Err(CallError::Rpc(error)) => Err(encode_for::error(revision, kind, key, error)),
        Err(error @ CallError::LogInFirst { .. }) => log_in_first(kind, revision, &error),
        // A failure of the proxy during a tool call is a tool result, which a model can read and act on.
        Err(error) if kind == ItemKind::Tool => encode_for::result(revision, error_result(&error.to_string())),
        Err(error) => Err(RpcError::internal(&error.to_string())),
    })
}

/// What a client gets that cannot be asked to open a page: the text for the model, and where for programs.
fn log_in_first(kind: ItemKind, revision: Revision, error: &CallError) -> Result<Raw, RpcError> {
    let CallError::LogInFirst { backend, url, .. } = error else { return Err(RpcError::internal(&error.to_string())) };
    let place = match url {
        Some(url) => json!({"server": backend, "url": url}),
        None => json!({"server": backend}),
    };
    let data = json!({LOG_IN: place});
    if kind != ItemKind::Tool {
        return Err(RpcError::with_data(code::INTERNAL, &error.to_string(), &data));
    }
    let result = error_result(&error.to_string());
    let result = match Object::of(&result) {
        Ok(object) => object.edit().set(key::META, &raw(&data)).finish_raw(),
        Err(_) => result,
    };
    encode_for::result(revision, result)
}

fn unknown(kind: ItemKind, key: &str, revision: Revision) -> RpcError {
    match kind {
        ItemKind::Resource | ItemKind::ResourceTemplate => encode_for::resource_not_found(revision, key),
        _ => RpcError::invalid_params(&format!("unknown {}: {key}", kind.noun())),
    }
}

/// Converts the error `URLElicitationRequired` for a client that may not support it.
fn url_required(revision: Revision, supports_url: bool, error: RpcError) -> RpcError {
    if revision.is_stateless() {
        let data = json!({"requiredCapabilities": {"elicitation": {"url": {}}}});
        return RpcError::with_data(code::MISSING_CAPABILITY, &error.message(), &data);
    }
    if revision == Revision::V2025_11_25 && supports_url {
        return error;
    }
    let data = error.data().unwrap_or_default();
    let addresses: Vec<&str> =
        data["elicitations"].as_array().into_iter().flatten().filter_map(|entry| entry["url"].as_str()).collect();
    RpcError::internal(&format!("{}: {}", error.message(), addresses.join(", ")))
}
