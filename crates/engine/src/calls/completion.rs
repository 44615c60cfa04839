//! Completions of an argument of a published prompt or resource template: by the script's own function, or by the server
//! whose item is published.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::call::Calls;
use super::context::RequestContext;
use super::flow::{FlowGuard, FlowItem, Verdict};
use super::handler::host::RequestHost;
use super::handler::run::record_failure;
use super::other_request::OtherRequest;
use super::permit::Permit;
use crate::surface::{PublishedItem, Surface};
use proxy_builtins::{Completers, Handler, completable_names, unknown_argument};
use proxy_json::{Object, Raw, RawRef, array, object, raw};
use proxy_mcp_client::CallError;
use proxy_model::flow::Labels;
use proxy_model::{ItemKind, ItemRef, MAX_COMPLETIONS, no_completion};
use proxy_script::{FailureKind, Stop};
use proxy_wire::completion::METHOD;
use proxy_wire::{CompletionArgument, CompletionParams, RpcError};

/// The outcome of a completion, and the item that its errors are about: the published one, or that of the server.
pub struct Completed {
    pub kind: ItemKind,
    pub key: String,
    pub outcome: Result<Raw, CallError>,
}

impl Calls {
    /// Completes an argument. `params` are those of the client, without reserved `_meta` keys.
    pub async fn complete(&self, request: &RequestContext, params: &RawRef) -> Result<Completed, RpcError> {
        let completion = Completion::read(params, &request.surface)?;
        let Ok(permit) = self.listed_permit(request, completion.entry) else {
            return Err(unknown(completion.sent.kind, &completion.sent.key));
        };
        let done = |outcome| Completed { kind: completion.sent.kind, key: completion.sent.key.clone(), outcome };
        if let Err(refused) = self.admit_other(request, || completion.as_other_request(params)).await {
            return Ok(done(Err(refused)));
        }
        if let Some(completers) = &completion.entry.completers {
            let argument = completion.sent.argument()?;
            if completers.completes(&argument.name) {
                return Ok(done(self.complete_by_script(request, &completion, completers.clone(), argument).await));
            }
        }
        if let Some((target, params)) = completion.target(&request.surface) {
            // What somebody types for a held item does not go to its server either.
            if let Some(why) = self.dispatcher.lock_refusal(&target, request.peer.as_deref()) {
                return Ok(done(Err(CallError::Stopped(why))));
            }
            let outcome = self.complete_by_server(request, &target, params, permit).await;
            // The caching rules of `resources/read` do not apply to a completion.
            let kind = if target.kind == ItemKind::Resource { ItemKind::ResourceTemplate } else { target.kind };
            return Ok(Completed { kind, key: target.name.to_string(), outcome: outcome.map(within_limit) });
        }
        completion.check_argument()?;
        Ok(done(Ok(no_completion())))
    }

    async fn complete_by_script(
        &self,
        request: &RequestContext,
        completion: &Completion<'_>,
        completers: Completers,
        argument: CompletionArgument,
    ) -> Result<Raw, CallError> {
        let key = completion.entry.definition.key();
        let caller = request.flow_caller(&self.store);
        let guard = caller.and_then(|caller| FlowGuard::completing(caller, completion.entry, key));
        if let Some(guard) = &guard
            && let Verdict::Asks(consent) = guard.verdict().await?
        {
            return Err(guard.not_asked(&consent));
        }
        let host = Arc::new(self.completion_host(request, key));
        if let Some(guard) = &guard {
            host.speaks_for(guard.clone());
        }
        let host = host.host();
        // The surface owns the code of the functions.
        let surface = Arc::clone(&request.surface);
        let run = self.pool.run(move || {
            let _surface = surface;
            completers.complete(&argument, &host)
        });
        let completed = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Cancelled),
            completed = run => completed,
        };
        // What the function returns is passed on, and so is why it fails.
        if let Some(guard) = &guard
            && matches!(completed, Ok(Some(_)))
        {
            guard.mark().await?;
        }
        match completed {
            Ok(None) => Ok(no_completion()),
            Ok(Some(Ok(result))) => Ok(result),
            Ok(Some(Err(failure))) => {
                let data = match &failure.kind {
                    FailureKind::Stopped(Stop::Cancelled) => return Err(CallError::Cancelled),
                    FailureKind::Failed { data } => data.clone(),
                    _ => None,
                };
                if let Some(recording) = &request.recording {
                    record_failure(recording, &failure);
                }
                tracing::warn!(method = METHOD, item = key, "{}", failure.diagnostic);
                Err(CallError::Failed { message: failure.for_client(), data })
            }
            Err(error) => {
                tracing::error!(method = METHOD, item = key, %error, "the completion did not finish");
                Err(CallError::Failed { message: format!("the completion did not finish: {error}"), data: None })
            }
        }
    }

    async fn complete_by_server(
        &self,
        request: &RequestContext,
        target: &ItemRef,
        params: Raw,
        permit: Permit,
    ) -> Result<Raw, CallError> {
        let mut call = request.backend_call(METHOD, params);
        if self.dispatcher.is_in_process(&target.backend) {
            call.host = Some(Arc::new(self.completion_host(request, &target.name)).host());
        }
        let flow =
            self.passage(request, METHOD, Labels::default(), || Some(FlowItem::of(target, RawRef::EMPTY_OBJECT)));
        self.forward(request, &target.backend, call, permit, flow).await
    }

    /// There is no journal: nothing is asked in a completion, so it runs once.
    fn completion_host(&self, request: &RequestContext, key: &str) -> RequestHost {
        let info = request.info(METHOD.into(), key.into());
        let (peer, cancel) = (request.peer.clone(), request.cancel.clone());
        let namespace = Arc::clone(&request.surface.run.namespace);
        let host = self.request_host(info, peer, cancel, Handle::current(), namespace, None);
        RequestHost { recording: request.recording.clone(), surface: Some(Arc::clone(&request.surface)), ..host }
    }
}

fn unknown(kind: ItemKind, key: &str) -> RpcError {
    RpcError::invalid_params(&format!("unknown {}: {key}", kind.noun()))
}

/// A request for completions of an item that is published.
struct Completion<'a> {
    sent: CompletionParams<'a>,
    entry: &'a PublishedItem,
}

impl<'a> Completion<'a> {
    fn read(params: &'a RawRef, surface: &'a Surface) -> Result<Self, RpcError> {
        let sent = CompletionParams::read(params)?;
        let entry = surface.find(sent.kind, &sent.key).or_else(|| {
            // `ref/resource` may also name a resource without variables.
            (sent.kind == ItemKind::ResourceTemplate).then(|| surface.find(ItemKind::Resource, &sent.key)).flatten()
        });
        let entry = entry.ok_or_else(|| unknown(sent.kind, &sent.key))?;
        Ok(Completion { sent, entry })
    }

    /// The request as `on_other_request` receives it: the argument, the text typed so far, and the other arguments.
    fn as_other_request<'b>(&'b self, params: &'b RawRef) -> OtherRequest<'b> {
        let argument = self.sent.params.get("argument").and_then(|argument| Object::of(argument).ok());
        let text = |member| argument.as_ref().and_then(|argument| argument.string(member)).unwrap_or_default();
        let context = self.sent.params.get("context").and_then(|context| Object::of(context).ok()?.get("arguments"));
        let arguments = object([
            ("argument", raw(&text("name"))),
            ("value", raw(&text("value"))),
            ("context", context.unwrap_or(RawRef::EMPTY_OBJECT).to_owned()),
        ]);
        OtherRequest { method: METHOD, name: &self.sent.key, arguments, forwarded: Some(params) }
    }

    /// The server's item, which a handler of the script may wrap, and the params with the server's name for it. `None` if
    /// no server completes the item: the script made it, or its server does not support completions.
    fn target(&self, surface: &Surface) -> Option<(ItemRef, Raw)> {
        let target = match (&self.entry.handler, &self.entry.origin) {
            (Handler::Backend(target), _) => target,
            (Handler::Script(_), Some(origin)) if publishes_argument(self.entry, &self.sent.params) => origin,
            (Handler::Script(_), _) => return None,
        };
        // As this client sees the server: it may have completions only in one era.
        if !surface.origin().backend(&target.backend).is_some_and(|backend| backend.info.declares("completions")) {
            return None;
        }
        let reference = self.sent.reference.edit().set(self.sent.member, &raw(&*target.name)).finish_raw();
        Some((target.clone(), self.sent.params.edit().set("ref", &reference).finish_raw()))
    }

    /// Refuses an argument that an item with completions of its own does not have.
    fn check_argument(&self) -> Result<(), RpcError> {
        if self.entry.completers.is_none() {
            return Ok(());
        }
        let (kind, argument) = (self.entry.kind, self.sent.argument()?);
        match completable_names(kind, &self.entry.definition).contains(&argument.name) {
            true => Ok(()),
            false => Err(unknown_argument(kind, &self.sent.key, &argument.name)),
        }
    }
}

/// Whether a wrapped prompt is published with the argument to complete. The script may have removed the argument to hide
/// its values.
fn publishes_argument(entry: &PublishedItem, params: &Object<'_>) -> bool {
    let argument = params.get("argument").and_then(|argument| Object::of(argument).ok()?.string("name"));
    entry.kind != ItemKind::Prompt
        || argument.is_some_and(|argument| completable_names(entry.kind, &entry.definition).contains(&argument))
}

/// Truncates the values of a server to the maximum that MCP allows.
fn within_limit(result: Raw) -> Raw {
    shortened(&result).unwrap_or(result)
}

fn shortened(result: &RawRef) -> Option<Raw> {
    let object = Object::of(result).ok()?;
    let completion = Object::of(object.get("completion")?).ok()?;
    let values: Vec<&RawRef> = serde_json::from_str(completion.get("values")?.get()).ok()?;
    if values.len() <= MAX_COMPLETIONS {
        return None;
    }
    let values = array(&values[..MAX_COMPLETIONS]);
    let completion = completion.edit().set("values", &values).set("hasMore", RawRef::TRUE).finish_raw();
    Some(object.edit().set("completion", &completion).finish_raw())
}
