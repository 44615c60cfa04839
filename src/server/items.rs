//! A tool called, a resource read, a prompt asked for.

use super::methods::{Asked, Outcome};
use super::progress::{progress_token, with_progress};
use super::{Server, caching, tell};
use crate::backend::{CallError, progress_channel};
use crate::json::{Object, Raw};
use crate::model::{ItemKind, error_result};
use crate::session::CallFault;
use crate::wire::{Revision, RpcError, code, without_reserved};

impl Server {
    /// A tool called, a resource read or a prompt asked for, with progress on its way while it runs.
    pub(super) async fn use_item(&self, kind: ItemKind, asked: Asked<'_>) -> Outcome {
        let revision = asked.client.revision;
        match self.carry_out(kind, asked).await {
            Ok((key, outcome)) => told(outcome, kind, &key, revision),
            Err(error) => Some(Err(error)),
        }
    }

    /// Reads what a request is about, then does it; what it was about, and what came of it.
    async fn carry_out(&self, kind: ItemKind, asked: Asked<'_>) -> Result<(String, Result<Raw, CallFault>), RpcError> {
        let member = kind.use_member();
        let missing = || RpcError::invalid_params(&format!("`{member}` is missing or not a string"));
        let params = without_reserved(asked.request.params.as_deref().ok_or_else(missing)?);
        let object = Object::parse(params.get()).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        let key = object.string(member).ok_or_else(missing)?;
        if object.get("arguments").is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(RpcError::invalid_params("`arguments` must be an object"));
        }
        let surface = self.surface().await?;
        let token = progress_token(asked.request)?;
        let (progress, receiver) = token.is_some().then(progress_channel).unzip();
        let caller = asked.client.caller(asked.cancel, progress);
        let call = self.gateway.calls().item(&surface, kind, &key, &object, &params, caller);
        let outcome = match (token, receiver) {
            (Some(token), Some(receiver)) => with_progress(call, receiver, &token, asked.outlet).await,
            _ => call.await,
        };
        Ok((key, outcome))
    }
}

pub(super) fn told(outcome: Result<Raw, CallFault>, kind: ItemKind, key: &str, revision: Revision) -> Outcome {
    Some(match outcome {
        Ok(result) if kind == ItemKind::Resource => caching::contents(revision, result),
        Ok(result) => tell::result(revision, result),
        Err(CallFault::Cancelled) => return None,
        Err(CallFault::Unknown) => Err(unknown(kind, key, revision)),
        Err(CallFault::Failed { message, data: None }) => Err(RpcError::internal(&message)),
        Err(CallFault::Failed { message, data: Some(data) }) => {
            Err(RpcError::with_data(code::INTERNAL, &message, &data))
        }
        Err(CallFault::Backend(CallError::Rpc(error))) => Err(tell::error(revision, kind, key, error)),
        // What the proxy itself ran into with a tool is a result the model can read and act on.
        Err(CallFault::Backend(error)) if kind == ItemKind::Tool => {
            tell::result(revision, error_result(&error.to_string()))
        }
        Err(CallFault::Backend(error)) => Err(RpcError::internal(&error.to_string())),
    })
}

fn unknown(kind: ItemKind, key: &str, revision: Revision) -> RpcError {
    match kind {
        ItemKind::Resource | ItemKind::ResourceTemplate => tell::resource_not_found(revision, key),
        _ => RpcError::invalid_params(&format!("unknown {}: {key}", kind.noun())),
    }
}
