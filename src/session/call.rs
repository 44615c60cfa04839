//! A call of a published tool.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::dispatch::Dispatcher;
use super::host::RequestHost;
use super::surface::{Entry, Surface, arguments_value};
use crate::backend::{Call, CallError, ProgressSink};
use crate::builtins::Handler;
use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{ItemRef, Principal, error_result, shaped};
use crate::script::{FailureKind, Function, Limits, Pool, Stop};

/// Who calls, and what is known of the request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Principal,
    pub cancel: CancellationToken,
    pub progress: Option<ProgressSink>,
    /// What a stateless client declared for this request.
    pub capabilities: Option<Raw>,
    pub log_level: Option<Raw>,
    /// The client's revision has structured content for objects only.
    pub objects_only: bool,
}

/// Why a call has no result.
#[derive(Debug)]
pub enum CallFault {
    UnknownTool(String),
    Backend(CallError),
    /// The call was cancelled: nobody waits for an answer.
    Cancelled,
}

/// Everything that calls need, shared by all of them.
#[derive(Clone)]
pub struct Calls {
    pub dispatcher: Dispatcher,
    pub pool: Pool,
}

impl Calls {
    /// Calls a published tool. `params` are the client's, without reserved `_meta` keys.
    pub async fn tool(
        &self,
        surface: &Arc<Surface>,
        name: &str,
        params: &Object<'_>,
        params_raw: &RawRef,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let entry = surface.tool(name).ok_or_else(|| CallFault::UnknownTool(name.to_owned()))?;
        match &entry.handler {
            Handler::Backend(target) => self.forward(target, name, params, params_raw, caller).await,
            Handler::Script(function) => {
                let arguments = params.get("arguments");
                self.run(surface, entry, function.clone(), arguments, caller).await
            }
        }
    }

    async fn forward(
        &self,
        target: &ItemRef,
        name: &str,
        params: &Object<'_>,
        params_raw: &RawRef,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let params = if target.name.as_ref() == name {
            params_raw.to_owned()
        } else {
            params.edit().set("name", quote(&target.name)).finish_raw()
        };
        let call = Call {
            method: "tools/call",
            params,
            timeout: None,
            progress: caller.progress,
            cancel: caller.cancel,
            capabilities: caller.capabilities,
            log_level: caller.log_level,
        };
        match self.dispatcher.call(&target.backend, call).await {
            Ok(answer) => Ok(answer.result),
            Err(CallError::Cancelled) => Err(CallFault::Cancelled),
            Err(error) => Err(CallFault::Backend(error)),
        }
    }

    async fn run(
        &self,
        surface: &Arc<Surface>,
        entry: &Entry,
        function: Function,
        arguments: Option<&RawRef>,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let tool: Arc<str> = entry.definition.key().into();
        let value = match arguments_value(arguments) {
            Ok(value @ Value::Object(_)) => value,
            _ => return Ok(error_result(&format!("the arguments of `{tool}` must be an object"))),
        };
        if let Some(schema) = &entry.schemas().input
            && let Err(mismatch) = schema.check(&value)
        {
            return Ok(error_result(&format!("invalid arguments for `{tool}`: {mismatch}")));
        }
        let arguments = arguments.map_or_else(|| crate::json::raw(&value), RawRef::to_owned);
        let host = Arc::new(RequestHost {
            dispatcher: self.dispatcher.clone(),
            runtime: tokio::runtime::Handle::current(),
            cancel: caller.cancel.clone(),
            principal: caller.principal,
            tool: Arc::clone(&tool),
        });
        // The handler's code lives in the surface; it is kept to the end of the call.
        let surface = Arc::clone(surface);
        let job = move || {
            let outcome = function.call(&arguments, host, &Limits::HANDLER);
            drop(surface);
            outcome
        };
        match self.pool.run(job).await {
            Ok(Ok(returned)) => Ok(finished(entry, shaped(returned, caller.objects_only))),
            Ok(Err(failure)) => match failure.kind {
                FailureKind::Stopped(Stop::Cancelled) => Err(CallFault::Cancelled),
                _ => {
                    tracing::warn!(tool = %tool, "{}", failure.diagnostic);
                    Ok(error_result(&failure.for_client()))
                }
            },
            Err(error) => {
                tracing::error!(tool = %tool, %error, "a handler did not finish");
                Ok(error_result(&format!("the handler of `{tool}` did not finish: {error}")))
            }
        }
    }
}

/// Checks a result against the tool's own promise.
fn finished(entry: &Entry, result: Map<String, Value>) -> Raw {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    if let (false, Some(schema)) = (failed, &entry.schemas().output) {
        let tool = entry.definition.key();
        let Some(structured) = result.get("structuredContent") else {
            return error_result(&format!("`{tool}` promises structured output (`output_schema`) but returned none"));
        };
        if let Err(mismatch) = schema.check(structured) {
            return error_result(&format!(
                "`{tool}` returned something its `output_schema` does not allow: {mismatch}"
            ));
        }
    }
    crate::json::raw(&result)
}
