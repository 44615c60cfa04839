//! What a running handler may do, for one request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::dispatch::Dispatcher;
use super::surroundings::Surroundings;
use super::through::Through;
use crate::backend::{Call, CallError, Party};
use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{ItemKind, ItemRef, Request, error_result};
use crate::script::{Host, LogLevel, Stop};
use crate::store::Store;

pub(super) struct RequestHost {
    pub(super) dispatcher: Dispatcher,
    pub(super) runtime: Handle,
    pub(super) cancel: CancellationToken,
    /// The client: a server that a handler calls may ask it too.
    pub(super) party: Option<Arc<dyn Party>>,
    pub(super) request: Request,
    pub(super) store: Store,
    /// Of the session script.
    pub(super) namespace: Arc<str>,
    pub(super) surroundings: Option<Arc<dyn Surroundings>>,
}

impl Host for RequestHost {
    fn call(&self, target: &ItemRef, arguments: &RawRef, timeout: Option<Duration>) -> Result<Raw, Stop> {
        let params = match params(target, arguments) {
            Ok(params) => params,
            Err(reason) => return Ok(error_result(&reason)),
        };
        let call = Call {
            method: target.kind.use_method().into(),
            params,
            timeout,
            cancel: self.cancel.clone(),
            party: self.party.clone().map(|party| Arc::new(Through(party)) as Arc<dyn Party>),
            passes_questions_on: false,
            takes_tasks: false,
            declares_tasks: false,
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
        fields.insert("tool".to_owned(), json!(self.request.name.as_ref()));
        fields.insert("user".to_owned(), json!(self.request.principal.sub.as_ref()));
        match &self.surroundings {
            Some(surroundings) => surroundings.log(level, message, &fields),
            None => level.record(message, &fields),
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.cancel.is_cancelled().then_some(Stop::Cancelled)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let wait = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::Cancelled),
                () = future => Ok(()),
            }
        };
        crate::script::wait(wait, &self.runtime)
    }

    fn now(&self) -> SystemTime {
        self.surroundings.as_ref().map_or_else(SystemTime::now, |surroundings| surroundings.now())
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        self.surroundings.as_ref()?.stands_in(kind, request)
    }

    fn request(&self) -> Option<&Request> {
        Some(&self.request)
    }

    fn store(&self) -> Option<&Store> {
        Some(&self.store)
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }
}

/// The params by which a backend knows what is meant.
fn params(target: &ItemRef, arguments: &RawRef) -> Result<Raw, String> {
    let text = match target.kind {
        ItemKind::Tool | ItemKind::Prompt => {
            format!("{{\"name\":{},\"arguments\":{}}}", quote(&target.name), arguments.get())
        }
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            let object = Object::parse(arguments.get()).map_err(|error| error.to_string())?;
            let uri = object.string("uri").ok_or("a resource is read with {\"uri\": ...}")?;
            // A plain resource has one URI, whatever name the script gave it.
            let uri = if target.kind == ItemKind::Resource { target.name.to_string() } else { uri };
            format!("{{\"uri\":{}}}", quote(&uri))
        }
    };
    crate::json::valid(text).map_err(|error| error.to_string())
}

/// A script sees final results only: without the marks of an era, and with a reason where it is an error.
fn final_result(result: Raw) -> Raw {
    let Ok(object) = Object::parse(result.get()) else {
        return error_result("the server answered with something that is not a result");
    };
    if object.string("resultType").is_some_and(|kind| kind != "complete") {
        return error_result("the server answered with a type of result that a script cannot use");
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
