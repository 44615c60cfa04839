//! Admission of requests that are not for a published item: completions, subscriptions, tasks, vendor methods. The script's
//! `on_other_request` may refuse them.

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use super::call::Calls;
use super::context::RequestContext;
use super::handler::run::record_failure;
use proxy_json::{Raw, RawRef, check_unique_keys};
use proxy_mcp_client::CallError;
use proxy_script::{Failure, FailureKind, Limits, Stop};
use proxy_wire::{RpcError, code};

/// A request as `on_other_request` sees it.
pub struct OtherRequest<'a> {
    /// The method as on the wire.
    pub method: &'a str,
    pub name: &'a str,
    /// An object.
    pub arguments: Raw,
    /// The part of the params that is forwarded and from which the arguments are made. If a key is there twice, the server
    /// might read another value than the script, so the request is refused.
    pub forwarded: Option<&'a RawRef>,
}

impl Calls {
    /// Runs the script's `on_other_request`, if there is one. The error is for the client.
    pub async fn admit_other<'a>(
        &self,
        request: &RequestContext,
        other: impl FnOnce() -> OtherRequest<'a>,
    ) -> Result<(), CallError> {
        let Some(hook) = request.surface.on_other_request() else { return Ok(()) };
        let OtherRequest { method, name, arguments, forwarded } = other();
        if let Some(forwarded) = forwarded {
            check_unique_keys(forwarded).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
        }
        let info = request.info(method.to_owned().into(), name.into());
        let (peer, cancel, namespace) = (request.peer.clone(), request.cancel.clone(), &request.surface.run.namespace);
        // There is no journal: nothing is asked here, so this runs once.
        let host = self.request_host(info, peer, cancel, Handle::current(), Arc::clone(namespace), None);
        // The surface owns the code of the function.
        let (host, function, surface) = (Arc::new(host), hook.function(), Arc::clone(&request.surface));
        let run = self.pool.run(move || {
            let _surface = surface;
            function.call(&arguments, host.host(), &Limits::HANDLER)
        });
        let outcome = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Cancelled),
            outcome = run => outcome,
        };
        match outcome {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) => {
                let data = match &failure.kind {
                    FailureKind::Stopped(Stop::Cancelled) => return Err(CallError::Cancelled),
                    FailureKind::Failed { data } => data.as_ref(),
                    _ => None,
                };
                if let Some(recording) = &request.recording {
                    record_failure(recording, &Failure { in_hook: true, ..failure.clone() });
                }
                tracing::warn!(method, item = name, "{}", failure.diagnostic);
                Err(refused(&failure.for_client(), data))
            }
            Err(error) => {
                tracing::error!(method, item = name, %error, "`on_other_request` did not finish");
                Err(refused(&format!("`on_other_request` did not finish: {error}"), None))
            }
        }
    }
}

fn refused(message: &str, data: Option<&Value>) -> CallError {
    CallError::Rejected(match data {
        Some(data) => RpcError::with_data(code::INTERNAL, message, data),
        None => RpcError::internal(message),
    })
}
