//! One run of a handler, from the client's arguments to its result.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::host::RequestHost;
use super::progress::RequestProgress;
use crate::backend::CallError;
use crate::builtins::Handler;
use crate::calls::context::{ItemCall, RequestContext};
use crate::json::{Object, ObjectError, Raw, RawRef, check_unique_keys};
use crate::model::{
    ItemKind, ItemRef, RefusalReason, checked_output, error_result, error_result_with, shaped, shaped_contents,
    shaped_messages,
};
use crate::script::{CallOptions, Failure, FailureKind, Function, JournalSnapshot, Limits, Stop};
use crate::surface::{PublishedItem, Surface, arguments_value};
use crate::telemetry::CallRecording;
use crate::wire::RpcError;

/// The error of a handler that ran again after a question and did not repeat all recorded effects.
const DIVERGED: &str =
    "the call was stopped: after the question, the handler did not repeat the calls it had made before";

/// One run of a handler: checks the arguments, calls the function and shapes its result. All of this runs on a worker,
/// not on the async runtime. The run holds the surface, which owns the handler's code.
pub(in crate::calls) struct HandlerRun {
    surface: Arc<Surface>,
    call: ItemCall,
    work: HandlerWork,
    structured_objects_only: bool,
    progress: Arc<RequestProgress>,
}

/// What runs after `on_request` has admitted the call.
pub(in crate::calls) enum HandlerWork {
    Script(Function),
    /// An item of an extension that is published unchanged, with the params under the extension's own name for it, and the
    /// number of the policies that allow its use.
    Local(ItemRef, Raw, Option<u64>),
    /// Nothing: `on_request` runs, and the arguments are checked if the script changed the tool's schema.
    Admission,
}

impl HandlerRun {
    pub(in crate::calls) fn new(request: &RequestContext, work: HandlerWork, call: ItemCall) -> Self {
        let structured_objects_only = request.structured_objects_only();
        HandlerRun {
            surface: Arc::clone(&request.surface),
            call,
            work,
            structured_objects_only,
            progress: Arc::default(),
        }
    }

    pub(in crate::calls) fn kind(&self) -> ItemKind {
        self.call.kind
    }

    pub(in crate::calls) fn call(&self) -> &ItemCall {
        &self.call
    }

    pub(in crate::calls) fn key(&self) -> &str {
        &self.call.key
    }

    /// The progress of the request, over all runs of its handler.
    pub(in crate::calls) fn progress(&self) -> &Arc<RequestProgress> {
        &self.progress
    }

    pub(in crate::calls) fn take_journal(&mut self) -> Option<JournalSnapshot> {
        self.call.journal.take()
    }

    /// Runs the handler. Returns `None` if there is none, and the call was admitted.
    pub(in crate::calls) fn run(&self, host: &Arc<RequestHost>) -> Result<Option<Raw>, CallError> {
        let outcome = match &self.work {
            HandlerWork::Script(function) => {
                let began = Instant::now();
                let outcome = self.script(Some(function), host);
                if let Some(recording) = &host.recording {
                    recording.handled(began, || self.published_at());
                }
                outcome
            }
            HandlerWork::Admission => self.script(None, host),
            HandlerWork::Local(target, params, permitted_by) => match self.script(None, host) {
                Ok(None) => local(target, params, *permitted_by, host).map(Some),
                answered => answered,
            },
        };
        match (outcome, &host.cursor) {
            (Err(CallError::Asks(_)), Some(cursor)) => Err(CallError::Asks(cursor.journal().take_snapshot())),
            (Ok(_), Some(cursor)) if !cursor.journal().is_replayed() => {
                failed(self.call.kind, DIVERGED.to_owned(), None).map(Some)
            }
            (outcome, _) => outcome,
        }
    }

    /// Where the script published the item.
    fn published_at(&self) -> Option<String> {
        let entry = self.surface.find(self.call.kind, &self.call.key)?;
        entry.site.as_ref()?.line().map(ToString::to_string)
    }

    /// Runs `on_request`, if there is one, checks the arguments, and then runs the function.
    fn script(&self, function: Option<&Function>, host: &Arc<RequestHost>) -> Result<Option<Raw>, CallError> {
        let params = Object::of(&self.call.params).map_err(malformed)?;
        let (entry, sent) = (self.surface.find(self.call.kind, &self.call.key), params.get("arguments"));
        let hook = self.surface.on_request();
        let checks = entry.is_some_and(PublishedItem::checks_arguments);
        if let Some(sent) = sent.filter(|_| hook.is_some() || function.is_some() || checks) {
            // The server must get what is checked here.
            check_unique_keys(sent).map_err(ambiguous)?;
        }
        let checked = match (function, entry) {
            (Some(function), Some(entry)) => {
                handler_arguments(entry, &self.call.key, sent).map(|checked| Some((function, checked)))
            }
            (None, Some(entry)) if checks => checked_arguments(entry, sent).map(|_| None),
            _ => Ok(None),
        };
        let (function, arguments) = match (&checked, hook) {
            (Ok(Some((function, arguments))), None) => ((*function).clone(), arguments.clone()),
            (Ok(Some((function, arguments))), Some(hook)) => (hook.before((*function).clone()), arguments.clone()),
            (Ok(None) | Err(_), Some(hook)) => (hook.alone(), self.hook_arguments(sent)),
            (Ok(None), None) => return Ok(None),
            (Err(reason), None) => return mismatched(host, self.call.kind, reason.clone()).map(Some),
        };
        match (function.call(&arguments, host.host(), &Limits::HANDLER), checked) {
            (Ok(Value::Null), Ok(None)) => Ok(None),
            (Ok(Value::Null), Err(reason)) => mismatched(host, self.call.kind, reason).map(Some),
            (Ok(returned), _) => {
                finished(entry, self.call.kind, &self.call.key, returned, self.structured_objects_only).map(Some)
            }
            (Err(failure), _) => match (&failure.kind, entry.filter(|entry| entry.kind == ItemKind::Tool)) {
                (FailureKind::TimedOut { data }, Some(entry)) => {
                    Ok(Some(timed_out(host, entry, &failure, data.clone())))
                }
                _ => stopped(host, self.call.kind, &self.call.key, &failure).map(Some),
            },
        }
    }

    /// The arguments that `on_request` receives for an item without a handler, or with invalid arguments: as sent.
    fn hook_arguments(&self, sent: Option<&RawRef>) -> Raw {
        match self.call.kind {
            ItemKind::Tool | ItemKind::Prompt => sent.unwrap_or(RawRef::EMPTY_OBJECT).to_owned(),
            ItemKind::Resource | ItemKind::ResourceTemplate => crate::json::raw(&json!({ "uri": self.call.key })),
        }
    }
}

fn local(target: &ItemRef, params: &Raw, permitted_by: Option<u64>, host: &RequestHost) -> Result<Raw, CallError> {
    // This is the item itself, not something that another item calls.
    let options = CallOptions { permitted_by, via: Some("".into()), ..CallOptions::default() };
    host.dispatch(target, Raw::clone(params), options, host.cursor.clone()).map(|answer| answer.result)
}

/// The arguments of a script handler.
fn handler_arguments(entry: &PublishedItem, key: &str, arguments: Option<&RawRef>) -> Result<Raw, String> {
    match entry.kind {
        ItemKind::Tool if is_unchecked(entry) && has_object(arguments) => {
            Ok(arguments.unwrap_or(RawRef::EMPTY_OBJECT).to_owned())
        }
        ItemKind::Tool => checked_arguments(entry, arguments),
        ItemKind::Prompt => Ok(arguments.unwrap_or(RawRef::EMPTY_OBJECT).to_owned()),
        ItemKind::Resource => Ok(crate::json::raw(&json!({ "uri": key }))),
        ItemKind::ResourceTemplate => {
            let mut values = json!({ "uri": key });
            for (name, value) in entry.variables(key).unwrap_or_default() {
                values[name] = value.into();
            }
            Ok(crate::json::raw(&values))
        }
    }
}

/// Whether the handler of a tool checks its arguments itself.
fn is_unchecked(entry: &PublishedItem) -> bool {
    matches!(&entry.handler, Handler::Script(function) if function.is_unchecked())
}

fn has_object(arguments: Option<&RawRef>) -> bool {
    arguments.is_none_or(|arguments| Object::of(arguments).is_ok())
}

fn checked_arguments(entry: &PublishedItem, arguments: Option<&RawRef>) -> Result<Raw, String> {
    let tool = entry.definition.key();
    let value = match arguments_value(arguments) {
        Ok(value @ Value::Object(_)) => value,
        _ => return Err(format!("the arguments of `{tool}` must be an object")),
    };
    entry.check_arguments(&value)?;
    Ok(arguments.map_or_else(|| crate::json::raw(&value), RawRef::to_owned))
}

/// A failure in the form that fits the kind of item. For a tool it is a result with `isError`, which a model reads.
pub fn failed(kind: ItemKind, message: String, data: Option<Value>) -> Result<Raw, CallError> {
    match kind {
        ItemKind::Tool => Ok(error_result(&message)),
        _ => Err(CallError::Failed { message, data }),
    }
}

/// The answer to arguments that do not match the published schema.
fn mismatched(host: &RequestHost, kind: ItemKind, reason: String) -> Result<Raw, CallError> {
    if let Some(recording) = &host.recording {
        recording.refused(RefusalReason::Schema, || None, &reason);
    }
    failed(kind, reason, None)
}

fn stopped(host: &RequestHost, kind: ItemKind, key: &str, failure: &Failure) -> Result<Raw, CallError> {
    let data = match &failure.kind {
        FailureKind::Stopped(Stop::Cancelled) => return Err(CallError::Cancelled),
        // `HandlerRun::run` puts the journal in.
        FailureKind::Stopped(Stop::Input) => return Err(CallError::Asks(JournalSnapshot::default())),
        FailureKind::Failed { data } => data.clone(),
        _ => None,
    };
    if let Some(recording) = &host.recording {
        record_failure(recording, failure);
    }
    tracing::warn!(item = key, "{}", failure.diagnostic);
    failed(kind, failure.for_client(), data)
}

/// The result of a tool that took longer than its timeout.
fn timed_out(host: &RequestHost, entry: &PublishedItem, failure: &Failure, data: Value) -> Raw {
    if let Some(recording) = &host.recording {
        record_failure(recording, failure);
    }
    tracing::warn!(item = entry.definition.key(), "{}", failure.diagnostic);
    checked_result(entry, error_result_with(&failure.for_client(), data))
}

/// Notes a `fail()` as a refusal, and every other failure as an error of the script.
pub(in crate::calls) fn record_failure(recording: &CallRecording, failure: &Failure) {
    match &failure.kind {
        FailureKind::Failed { .. } => {
            let reason = if failure.in_hook { RefusalReason::OnRequest } else { RefusalReason::Handler };
            let at = || failure.diagnostic.place.as_ref().map(|place| place.short());
            recording.refused(reason, at, &failure.message);
        }
        FailureKind::Stopped(_) => {}
        FailureKind::Error | FailureKind::Limit(_) | FailureKind::TimedOut { .. } => recording.script_failed(),
    }
}

fn finished(
    entry: Option<&PublishedItem>,
    kind: ItemKind,
    key: &str,
    returned: Value,
    objects_only: bool,
) -> Result<Raw, CallError> {
    let fault = |message| CallError::Failed { message, data: None };
    match kind {
        ItemKind::Tool => {
            let result = shaped(returned, objects_only);
            Ok(match entry {
                Some(entry) => checked_result(entry, result),
                None => crate::json::raw(&result),
            })
        }
        ItemKind::Prompt => shaped_messages(returned).map(|result| crate::json::raw(&result)).map_err(fault),
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            shaped_contents(returned, key).map(|result| crate::json::raw(&result)).map_err(fault)
        }
    }
}

/// Checks a result against the tool's output schema. A mismatch becomes an error result.
fn checked_result(entry: &PublishedItem, result: Map<String, Value>) -> Raw {
    let (tool, pause) = (entry.definition.key(), crate::fiber::yield_if_over_slice);
    match checked_output(tool, entry.output_schema(), result, &pause) {
        Ok(result) => crate::json::raw(&result),
        Err(problem) => error_result(&problem),
    }
}

pub(in crate::calls) fn malformed(error: ObjectError) -> CallError {
    CallError::Failed { message: error.to_string(), data: None }
}

/// The error for arguments of which the proxy might read one value and the server another.
pub(in crate::calls) fn ambiguous(error: ObjectError) -> CallError {
    CallError::Rejected(RpcError::invalid_params(&format!("`arguments`: {error}")))
}
