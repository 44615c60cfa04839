//! What a running handler may do, for one request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::build;
use super::dispatch::Dispatcher;
use crate::backend::{Call, CallError};
use crate::json::{Object, Raw, quote};
use crate::model::{ItemRef, Principal, error_result};
use crate::script::{Host, LogLevel, Stop};

pub(super) struct RequestHost {
    pub(super) dispatcher: Dispatcher,
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
    pub(super) principal: Principal,
    pub(super) tool: Arc<str>,
}

impl Host for RequestHost {
    fn call(&self, target: &ItemRef, arguments: Raw, timeout: Option<Duration>) -> Result<Raw, Stop> {
        let params = format!("{{\"name\":{},\"arguments\":{}}}", quote(&target.name), arguments.get());
        let Ok(params) = crate::json::valid(params) else { return Ok(error_result("the arguments are not JSON")) };
        let call = Call {
            method: "tools/call",
            params,
            timeout,
            progress: None,
            cancel: self.cancel.clone(),
            capabilities: None,
            log_level: None,
        };
        match self.dispatcher.call_blocking(&target.backend, call, &self.runtime) {
            Ok(answer) => Ok(final_result(answer.result)),
            Err(CallError::Cancelled) => Err(Stop::Cancelled),
            Err(CallError::Rpc(error)) => Ok(error_result(&error.message())),
            Err(error) => Ok(error_result(&error.to_string())),
        }
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        // Set last: a script cannot speak in another tool's or user's name.
        fields.insert("tool".to_owned(), json!(self.tool.as_ref()));
        fields.insert("user".to_owned(), json!(self.principal.sub.as_ref()));
        build::log(level, message, &fields);
    }

    fn stopped(&self) -> Option<Stop> {
        self.cancel.is_cancelled().then_some(Stop::Cancelled)
    }
}

/// A script sees final results only: without the marks of an era, and with a reason where it is an error.
fn final_result(result: Raw) -> Raw {
    let Ok(object) = Object::parse(result.get()) else {
        return error_result("the server answered with something that is not a result");
    };
    if object.string("resultType").is_some_and(|kind| kind != "complete") {
        return error_result("the tool asked for more input in the middle of the call, which a script cannot give");
    }
    let failed = object.get("isError").is_some_and(|flag| flag.get() == "true");
    let explained = object.get("content").is_some_and(|content| content.get().contains("\"text\""));
    if failed && !explained {
        return error_result("the tool failed and gave no reason");
    }
    if object.get("resultType").is_none() {
        return result;
    }
    object.edit().remove("resultType").finish_raw()
}
