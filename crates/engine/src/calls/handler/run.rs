//! One run of a handler, from the client's arguments to its result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::flow::Consented;
use super::host::RequestHost;
use super::progress::RequestProgress;
use crate::calls::context::{ItemCall, RequestContext};
use crate::calls::failed::failed;
use crate::calls::flow::FlowGuard;
use crate::surface::{PublishedItem, Surface};
use proxy_builtins::{Admission, ArgumentChecks};
use proxy_json::{Object, ObjectError, Raw, RawRef, check_unique_keys};
use proxy_mcp_client::CallError;
use proxy_model::{
    ItemKind, ItemRef, JournalSnapshot, RefusalReason, checked_output, error_result, error_result_with, shaped,
    shaped_contents, shaped_messages,
};
use proxy_script::{CallOptions, Failure, FailureKind, Function, Limits, Stop};
use proxy_telemetry::CallRecording;
use proxy_wire::RpcError;

/// The error of a handler that ran again after a question and did not repeat all recorded effects.
const DIVERGED: &str =
    "the call was stopped: after the elicitation, the handler did not repeat the calls it had made before";

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
    /// Nothing: `on_request` runs, the arguments are checked if the script changed the tool's schema, and a person is asked
    /// if a flow rule says so.
    Admission {
        /// Whether the item only passes the request on to another tool.
        forwards: bool,
        /// Whether the call continues: `on_request` has admitted it already.
        continues: bool,
        flow: Option<Box<FlowGuard>>,
        /// Set if the person has agreed.
        agreed: Arc<AtomicBool>,
    },
}

impl HandlerWork {
    /// `on_request` alone.
    pub(in crate::calls) fn hook(forwards: bool) -> Self {
        HandlerWork::Admission { forwards, continues: false, flow: None, agreed: Arc::default() }
    }
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
                let outcome = self.guarded(function, host);
                if let Some(recording) = &host.recording {
                    recording.handled(began, || self.published_at());
                }
                outcome
            }
            HandlerWork::Admission { flow: guard, continues, agreed, .. } => {
                let admitted = if *continues { Ok(None) } else { self.script(None, host) };
                match (admitted, guard) {
                    (Ok(None), Some(guard)) => match host.admit(guard, &self.call.params, host.cursor.as_ref()) {
                        Ok(consented) => {
                            agreed.store(consented == Consented::Agreed, Ordering::Relaxed);
                            Ok(None)
                        }
                        Err(stopped) => self.stopped_by_flow(stopped).map(Some),
                    },
                    (outcome, _) => outcome,
                }
            }
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

    /// Runs the script's handler. If the item has labels, the flow rules are asked before, and the marks are stored after.
    fn guarded(&self, function: &Function, host: &Arc<RequestHost>) -> Result<Option<Raw>, CallError> {
        let guard = self.surface.flow().and_then(|_| {
            let entry = self.surface.find(self.call.kind, &self.call.key)?;
            Some((FlowGuard::at_use(host.flow_caller()?, entry, &self.call.key)?, entry.origin.clone()))
        });
        let Some((guard, origin)) = guard else { return self.script(Some(function), host) };
        match host.admit(&guard, &self.call.params, host.cursor.as_ref()) {
            Ok(Consented::Agreed) => drop(origin.map(|origin| host.agreed.set(origin))),
            Ok(Consented::Unasked | Consented::Earlier) => {}
            Err(stopped) => return self.stopped_by_flow(stopped).map(Some),
        }
        host.speaks_for(guard.clone());
        match self.script(Some(function), host) {
            Err(cancelled @ CallError::Cancelled) => Err(cancelled),
            outcome => match host.mark_read(&guard) {
                Ok(()) => outcome,
                Err(stopped) => self.stopped_by_flow(stopped).map(Some),
            },
        }
    }

    /// The answer to a call that a flow rule stops; an interruption stays one.
    fn stopped_by_flow(&self, stopped: CallError) -> Result<Raw, CallError> {
        match stopped {
            CallError::Stopped(message) => failed(self.call.kind, message, None),
            interrupted => Err(interrupted),
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
        let checks = entry.and_then(|entry| entry.checks_of(self.call.is_lowered));
        let checks = checks.as_deref();
        if let Some(sent) = sent.filter(|_| hook.is_some() || function.is_some() || checks.is_some()) {
            // The server must get what is checked here.
            check_unique_keys(sent).map_err(ambiguous)?;
        }
        let arguments = self.arguments(entry.filter(|_| function.is_some()), sent);
        let forwards = matches!(self.work, HandlerWork::Admission { forwards: true, .. });
        let called = match (hook.map(|hook| Admission::new(hook, checks, forwards)), function) {
            (Some(admission), Some(function)) => admission.before(function.clone()),
            (Some(admission), None) => admission.alone(),
            (None, function) => {
                if let Some(Err(reason)) = checks.map(|checks| checked(checks, &arguments)) {
                    return mismatched(host, self.call.kind, reason).map(Some);
                }
                let Some(function) = function else { return Ok(None) };
                function.clone()
            }
        };
        match called.call(&arguments, host.host(), &Limits::HANDLER) {
            Ok(Value::Null) if function.is_none() => Ok(None),
            Ok(returned) => {
                finished(entry, self.call.kind, &self.call.key, returned, self.structured_objects_only).map(Some)
            }
            Err(failure) => match (&failure.kind, entry.filter(|entry| entry.kind == ItemKind::Tool)) {
                (FailureKind::TimedOut { data }, Some(entry)) => {
                    Ok(Some(timed_out(host, entry, &failure, data.clone())))
                }
                (FailureKind::InvalidArguments, _) => mismatched(host, self.call.kind, failure.message).map(Some),
                _ => stopped(host, self.call.kind, &self.call.key, &failure).map(Some),
            },
        }
    }

    /// The arguments that `on_request` and the handler receive. A handler of a template gets the values of its variables too.
    fn arguments(&self, handled: Option<&PublishedItem>, sent: Option<&RawRef>) -> Raw {
        match self.call.kind {
            ItemKind::Tool | ItemKind::Prompt => sent.unwrap_or(RawRef::EMPTY_OBJECT).to_owned(),
            ItemKind::Resource | ItemKind::ResourceTemplate => {
                let uri = &self.call.key;
                let mut values = json!({ "uri": uri });
                let template = handled.filter(|entry| entry.kind == ItemKind::ResourceTemplate);
                for (name, value) in template.and_then(|entry| entry.variables(uri)).unwrap_or_default() {
                    values[name] = value.into();
                }
                proxy_json::raw(&values)
            }
        }
    }
}

fn local(target: &ItemRef, params: &Raw, permitted_by: Option<u64>, host: &RequestHost) -> Result<Raw, CallError> {
    // This is the item itself, not something that another item calls.
    let options = CallOptions { permitted_by, via: Some("".into()), ..CallOptions::default() };
    host.dispatch(target, Raw::clone(params), options, host.cursor.clone()).map(|answer| answer.result)
}

/// Checks arguments where nothing of the script runs before.
fn checked(checks: &ArgumentChecks, arguments: &RawRef) -> Result<(), String> {
    let arguments = serde_json::from_str(arguments.get()).map_err(|error| error.to_string())?;
    checks.check(&arguments, &proxy_fiber::yield_if_over_slice)
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
    match (failure.refusal(), &failure.kind) {
        (Some(reason), _) => recording.refused(reason, || failure.short_place(), &failure.message),
        (None, FailureKind::Stopped(_)) => {}
        (None, _) => recording.script_failed(),
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
                None => proxy_json::raw(&result),
            })
        }
        ItemKind::Prompt => shaped_messages(returned).map(|result| proxy_json::raw(&result)).map_err(fault),
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            shaped_contents(returned, key).map(|result| proxy_json::raw(&result)).map_err(fault)
        }
    }
}

/// Checks a result against the tool's output schema. A mismatch becomes an error result.
fn checked_result(entry: &PublishedItem, result: Map<String, Value>) -> Raw {
    let (tool, pause) = (entry.definition.key(), proxy_fiber::yield_if_over_slice);
    match checked_output(tool, entry.output_schema(), result, &pause) {
        Ok(result) => proxy_json::raw(&result),
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
