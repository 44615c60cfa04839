//! The methods that both eras have.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::outlet::Outlet;
use super::{Server, tell};
use crate::backend::{CallError, Progress, progress_channel};
use crate::json::{Object, Raw, RawRef};
use crate::model::{Principal, error_result};
use crate::session::{CallFault, Caller, Surface};
use crate::wire::{ClientMeta, Request, Revision, RpcError, encode, key, without_reserved};

/// What is known of the one that makes a request.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) revision: Revision,
    pub(super) principal: Principal,
    /// What a stateless client says with every request.
    pub(super) capabilities: Option<Raw>,
    pub(super) log_level: Option<Raw>,
}

/// The outcome of a request; none if it was cancelled, because then nobody waits for one.
pub(super) type Outcome = Option<Result<Raw, RpcError>>;

impl Server {
    pub(super) async fn surface(&self) -> Result<Arc<Surface>, RpcError> {
        self.gateway.surface().await.map_err(|error| {
            tracing::error!("{error}");
            RpcError::internal("the proxy's session script failed; its log says why")
        })
    }

    /// `tools/list`, as the members a revision asks for.
    pub(super) async fn list_tools(&self, client: &Client) -> Result<Raw, RpcError> {
        let surface = self.surface().await?;
        let list = surface.tool_list();
        let text = if client.revision.is_stateless() {
            format!("{{\"tools\":{list},\"ttlMs\":0,\"cacheScope\":\"private\"}}")
        } else {
            format!("{{\"tools\":{list}}}")
        };
        let result = crate::json::valid(text).map_err(|error| RpcError::internal(&error.to_string()))?;
        if client.revision.is_stateless() { tell::result(client.revision, result) } else { Ok(result) }
    }

    /// `tools/call`, with progress on its way while it runs.
    pub(super) async fn call_tool(
        &self,
        request: &Request,
        client: &Client,
        cancel: CancellationToken,
        outlet: &Outlet,
    ) -> Outcome {
        let params = match &request.params {
            Some(params) => without_reserved(params),
            None => return Some(Err(RpcError::invalid_params("`name` is missing"))),
        };
        let object = match Object::parse(params.get()) {
            Ok(object) => object,
            Err(error) => return Some(Err(RpcError::invalid_params(&error.to_string()))),
        };
        let Some(name) = object.string("name") else {
            return Some(Err(RpcError::invalid_params("`name` is missing or not a string")));
        };
        if object.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Some(Err(RpcError::invalid_params("`arguments` must be an object")));
        }
        let surface = match self.surface().await {
            Ok(surface) => surface,
            Err(error) => return Some(Err(error)),
        };
        let token = match progress_token(request) {
            Ok(token) => token,
            Err(error) => return Some(Err(error)),
        };
        let (progress, receiver) = token.is_some().then(progress_channel).unzip();
        let caller = Caller {
            principal: client.principal.clone(),
            cancel,
            progress,
            capabilities: client.capabilities.clone(),
            log_level: client.log_level.clone(),
            objects_only: !client.revision.is_stateless(),
        };
        let call = self.gateway.calls().tool(&surface, &name, &object, &params, caller);
        let outcome = match (token, receiver) {
            (Some(token), Some(receiver)) => with_progress(call, receiver, &token, outlet).await,
            _ => call.await,
        };
        told(outcome, client.revision)
    }
}

fn told(outcome: Result<Raw, CallFault>, revision: Revision) -> Outcome {
    Some(match outcome {
        Ok(result) => tell::result(revision, result),
        Err(CallFault::Cancelled) => return None,
        Err(CallFault::UnknownTool(name)) => Err(RpcError::invalid_params(&format!("unknown tool: {name}"))),
        Err(CallFault::Backend(CallError::Rpc(error))) => Err(tell::error(revision, error)),
        // What the proxy itself ran into is a result the model can read and act on.
        Err(CallFault::Backend(error)) => tell::result(revision, error_result(&error.to_string())),
    })
}

/// The token under which the client wants progress, as it was written.
fn progress_token(request: &Request) -> Result<Option<Raw>, RpcError> {
    let Some(params) = &request.params else { return Ok(None) };
    if memchr::memmem::find(params.get().as_bytes(), key::PROGRESS_TOKEN.as_bytes()).is_none() {
        return Ok(None);
    }
    let object = Object::parse(params.get()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    Ok(ClientMeta::read(&object)?.progress_token)
}

/// Runs a call and passes its progress on, in order, all of it before the result.
async fn with_progress<T>(
    call: impl Future<Output = T>,
    mut progress: mpsc::Receiver<Progress>,
    token: &RawRef,
    outlet: &Outlet,
) -> T {
    let mut call = std::pin::pin!(call);
    let mut last = f64::NEG_INFINITY;
    let outcome = loop {
        tokio::select! {
            biased;
            Some(params) = progress.recv() => pass_on(&params, token, &mut last, outlet).await,
            outcome = &mut call => break outcome,
        }
    };
    while let Ok(params) = progress.try_recv() {
        pass_on(&params, token, &mut last, outlet).await;
    }
    outcome
}

/// One progress notification under the client's own token. Values that do not increase are not passed on: the protocol
/// wants them to.
async fn pass_on(params: &RawRef, token: &RawRef, last: &mut f64, outlet: &Outlet) {
    let Ok(object) = Object::parse(params.get()) else { return };
    let value = object.get("progress").and_then(|value| value.get().parse::<f64>().ok());
    let Some(value) = value.filter(|value| *value > *last) else { return };
    *last = value;
    let params = object.edit().set(key::PROGRESS_TOKEN, token.get()).finish();
    outlet.send(encode::notification("notifications/progress", Some(&params))).await;
}
