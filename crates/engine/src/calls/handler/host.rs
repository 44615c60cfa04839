//! The implementation of [`Host`] for the handlers of one client request.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use super::authorization::{self, HostAuthorization};
use super::flow::HostFlow;
use super::observer::RunObserver;
use super::peer::HandlerPeer;
use super::progress::{CallProgress, RequestProgress};
use super::request_state::RequestState;
use crate::calls::client_question::as_request;
use crate::calls::dispatch::Dispatcher;
use crate::calls::flow::FlowGuard;
use crate::calls::permit::{self, AccessCheck, Permit};
use crate::calls::test_overrides::TestOverrides;
use crate::surface::Surface;
use proxy_json::{Object, Raw, RawRef, quote};
use proxy_mcp_client::{Answer, BackendCall, CallError, Cancellation, Peer};
use proxy_model::{ItemKind, ItemRef, Question, RecordedEventKind, RequestInfo, error_result, invalid_params_result};
use proxy_script::{
    Authorization, CallOptions, Clock, Effects, Evaluator, FlowControl, Host, JournalCursor, LogLevel, Mocks,
    NotedFact, Output, Questions, Relay, RequestScope, Stop, ToolFacts, ToolRefusal, current_place,
};
use proxy_store::Store;
use proxy_telemetry::CallRecording;
use proxy_telemetry::audit::AuditEntry;
use proxy_wire::code;

/// The error result that a handler receives for a call that policies deny.
const NOT_PERMITTED: &str = "the policies do not permit a call that this request requires";

/// The effects that handlers of one request can use.
#[derive(Clone)]
pub(in crate::calls) struct RequestHost {
    pub(in crate::calls) dispatcher: Dispatcher,
    pub(in crate::calls) runtime: Handle,
    pub(in crate::calls) cancel: Cancellation,
    /// The client. Servers that a handler calls may ask it questions too.
    pub(in crate::calls) peer: Option<Arc<dyn Peer>>,
    pub(in crate::calls) request: RequestInfo,
    pub(in crate::calls) store: Store,
    /// Set if stored values must not outlive the request.
    pub(in crate::calls) request_state: Option<Arc<RequestState>>,
    /// The namespace of the session script in the store.
    pub(in crate::calls) namespace: Arc<str>,
    /// The number of questions so far, by handlers and by servers.
    pub(in crate::calls) question_count: Arc<AtomicU64>,
    /// What the client was told of the progress of this request.
    pub(in crate::calls) progress: Arc<RequestProgress>,
    /// The call of an extension that this host belongs to. None for the handler itself.
    pub(in crate::calls) extension_call: Option<Arc<CallProgress>>,
    /// What the handler that calls an extension lets through to the client. Everything for the handler itself.
    pub(in crate::calls) relay: Relay,
    /// Where effects are recorded. None if no question can be asked.
    pub(in crate::calls) cursor: Option<JournalCursor>,
    pub(in crate::calls) test_overrides: Option<Arc<dyn TestOverrides>>,
    /// What is noted of the request.
    pub(in crate::calls) recording: Option<Arc<CallRecording>>,
    /// The surface of the request. `None` if there is none, as at a prompt.
    pub(in crate::calls) surface: Option<Arc<Surface>>,
    /// Records what the run depends on, if needed.
    pub(in crate::calls) observer: Option<Arc<RunObserver>>,
    /// The server's item behind the published one, if the person has agreed to the use of that.
    pub(in crate::calls) agreed: Arc<OnceLock<ItemRef>>,
    /// The items that the handler speaks for, whose marks are not stored yet.
    pub(in crate::calls) unmarked: Arc<Mutex<Vec<FlowGuard>>>,
}

impl RequestHost {
    /// This as a [`Host`].
    pub(in crate::calls) fn host(self: &Arc<Self>) -> Arc<Host> {
        Arc::new(Host {
            effects: self.clone(),
            output: self.clone(),
            questions: self.clone(),
            scope: self.clone(),
            clock: self.clone(),
            authorization: self
                .dispatcher
                .policies()
                .get()
                .map(|policies| Arc::new(HostAuthorization::new(Arc::clone(self), policies)) as Arc<dyn Authorization>),
            flow: self
                .flow_caller()
                .map(|caller| Arc::new(HostFlow::new(Arc::clone(self), caller)) as Arc<dyn FlowControl>),
            mocks: self.test_overrides.is_some().then(|| self.clone() as Arc<dyn Mocks>),
            namespace: Arc::clone(&self.namespace),
            test: None,
        })
    }

    /// A line of the handler for the audit log.
    fn audited(&self, message: &str, fields: &Map<String, Value>) -> AuditEntry {
        let (principal, item) = (Box::new(self.request.principal.clone()), Arc::clone(&self.request.name));
        AuditEntry::Script {
            at: SystemTime::now(),
            principal,
            item,
            message: message.to_owned(),
            fields: fields.clone(),
        }
    }

    /// Calls a backend as a part of this request. The effects of a backend that runs in this process are recorded at
    /// `cursor`.
    pub(in crate::calls) fn dispatch(
        &self,
        target: &ItemRef,
        params: Raw,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Answer, CallError> {
        let permitted =
            options.permitted_by.and_then(|number| permit::already_permitted(self.dispatcher.policies(), number));
        let permit = match permitted {
            Some(permit) => permit,
            None => self.dispatch_permit(target, &params, options.via.as_deref())?,
        };
        let is_inner = options.via.as_deref() != Some("");
        let flow = self.passage(target, &params, is_inner, cursor.as_ref())?;
        let is_in_process = self.dispatcher.is_in_process(&target.backend);
        if let Some(observer) = self.observer.as_ref().filter(|_| self.dispatcher.is_per_person(&target.backend)) {
            observer.note_personal();
        }
        let progress = self.progress.begin(options.relay != Relay::Nothing);
        let (cancel, _watching) = match options.until {
            None => (self.cancel.clone(), None),
            Some(until) => {
                let cancel = self.cancel.child();
                self.runtime.spawn(cancel.clone().cancelled_with(until));
                let watching = cancel.token().clone().drop_guard();
                (cancel, Some(watching))
            }
        };
        let handler_peer = |peer| HandlerPeer {
            peer,
            question_count: Arc::clone(&self.question_count),
            relay: options.relay,
            progress: Arc::clone(&progress),
        };
        let mut call = BackendCall {
            timeout: options.timeout,
            cancel: cancel.clone(),
            peer: self.peer.clone().map(|peer| Arc::new(handler_peer(peer)) as Arc<dyn Peer>),
            ..BackendCall::new(target.kind.use_method(), params)
        };
        if is_in_process {
            let extension_call = Some(Arc::clone(&progress));
            let relay = options.relay.min(self.relay);
            call.host = Some(Arc::new(RequestHost { cursor, extension_call, relay, cancel, ..self.clone() }).host());
        }
        let recording = self.recording.as_deref();
        let outcome = self.dispatcher.call_blocking(&target.backend, call, permit, flow, &self.runtime, recording);
        if let Err(CallError::Asks(_)) = &outcome {
            progress.interrupted();
        }
        outcome
    }

    /// Asks the policies about a call that the handler makes.
    fn dispatch_permit(&self, target: &ItemRef, params: &RawRef, via: Option<&str>) -> Result<Permit, CallError> {
        let via = via.unwrap_or(&self.request.name);
        // The caller may not even know of the item, so the answer does not name it.
        permit::ask_dispatch(self.access_check(), self.surface.as_deref(), target, params, via)
            .map_err(|_| CallError::Failed { message: NOT_PERMITTED.to_owned(), data: None })
    }

    pub(in crate::calls) fn access_check(&self) -> AccessCheck<'_> {
        AccessCheck {
            scope_rules: &self.request.scope_rules,
            policies: self.dispatcher.policies(),
            principal: &self.request.principal,
            client: &self.request.client,
            recording: self.recording.as_deref(),
        }
    }
}

impl Effects for RequestHost {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let params = match params(target, arguments) {
            Ok(params) => params,
            Err(reason) => return Ok(error_result(&reason)),
        };
        let marks_invalid_params = options.marks_invalid_params;
        match self.dispatch(target, params, options, cursor) {
            Ok(answer) => Ok(final_result(answer.result)),
            // Only this call was given up.
            Err(CallError::Cancelled) if !self.cancel.is_cancelled() => Ok(error_result("the call was cancelled")),
            Err(CallError::Cancelled) => Err(Stop::Cancelled),
            Err(CallError::Asks(_)) => Err(Stop::Input),
            Err(CallError::Rpc(error)) if marks_invalid_params && error.code() == code::INVALID_PARAMS => {
                Ok(invalid_params_result(&error.message()))
            }
            Err(CallError::Rpc(error)) => Ok(error_result(&error.message())),
            Err(error) => Ok(error_result(&error.to_string())),
        }
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let wait = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::Cancelled),
                () = future => Ok(()),
            }
        };
        proxy_fiber::wait(wait, &self.runtime)
    }

    fn stopped(&self) -> Option<Stop> {
        self.cancel.is_cancelled().then_some(Stop::Cancelled)
    }
}

impl Output for RequestHost {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        // Set last, so that a script cannot log in the name of another tool or user.
        fields.insert("tool".to_owned(), json!(self.request.name.as_ref()));
        fields.insert("user".to_owned(), json!(self.request.principal.sub()));
        if let Some(recording) = &self.recording {
            recording.logged(level.as_str(), message);
        }
        match &self.test_overrides {
            Some(test_overrides) => test_overrides.log(level, message, &fields),
            None => {
                if let Some(audit) = self.dispatcher.telemetry().audit().filter(|_| level == LogLevel::Audit) {
                    audit.add(self.audited(message, &fields));
                }
                level.record(message, &fields);
            }
        }
    }

    fn print(&self, text: &str) {
        if !self.test_overrides.as_ref().is_some_and(|test_overrides| test_overrides.print(text)) {
            self.log(LogLevel::Info, text, &Map::new());
        }
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let Some(peer) = self.peer.as_ref().filter(|peer| peer.wants_progress() && self.may_speak()) else { return };
        let mut params = json!({ "progress": done });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        let params = proxy_json::raw(&params);
        match &self.extension_call {
            Some(call) => call.relay(peer.as_ref(), &params),
            None => self.progress.report(peer.as_ref(), &params),
        }
    }

    fn notify(&self, params: &RawRef) {
        if let Some(peer) = self.peer.as_ref().filter(|_| self.relay == Relay::ProgressAndLog && self.may_speak()) {
            peer.log(params);
        }
    }
}

impl Questions for RequestHost {
    fn cursor(&self) -> Option<JournalCursor> {
        self.cursor.clone()
    }

    fn can_ask(&self, question: &Question) -> bool {
        self.question_count.fetch_add(1, Ordering::Relaxed);
        self.peer.as_ref().is_some_and(|peer| peer.supports(&as_request(question)))
    }

    fn asked(&self) -> u64 {
        self.question_count.load(Ordering::Relaxed)
    }
}

impl RequestScope for RequestHost {
    fn request(&self) -> Option<&RequestInfo> {
        Some(&self.request)
    }

    fn store(&self) -> Option<&(dyn Any + Send + Sync)> {
        if let Some(request_state) = &self.request_state {
            request_state.mark_used();
        }
        Some(&self.store)
    }

    fn admit(&self, tool: ToolFacts<'_>, arguments: &Value) -> Result<Option<u64>, ToolRefusal> {
        authorization::admit(self.access_check(), tool, arguments)
    }

    fn note(&self, fact: NotedFact) {
        if let Some(observer) = &self.observer {
            observer.note(&fact);
        }
        let Some(recording) = &self.recording else { return };
        match fact {
            NotedFact::StateRead => recording.note(|noted| noted.replay.reads_state = true),
            NotedFact::RateLimited => {
                recording.rate_limited();
                // Without the calls before it, this one would not have exceeded the limit.
                recording.note(|noted| noted.replay.reads_state = true);
            }
            NotedFact::Answered { is_accepted } => recording.accepted(is_accepted),
            NotedFact::Refused(refusal) => recording.inner_refused(refusal),
            NotedFact::CacheHit => recording.happened(|| RecordedEventKind::CacheHit),
            NotedFact::CallerRead | NotedFact::FileLoaded(_) => {}
        }
    }
}

impl Clock for RequestHost {
    fn now(&self) -> SystemTime {
        self.test_overrides.as_ref().map_or_else(SystemTime::now, |test_overrides| test_overrides.now())
    }
}

impl Mocks for RequestHost {
    /// The handler runs on another thread than the test, so a function of the test cannot use its evaluator.
    fn mock<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: Option<&mut Evaluator<'v, '_, '_>>,
    ) -> Option<Result<Raw, String>> {
        let test_overrides = self.test_overrides.as_ref()?;
        test_overrides.mock(kind, request, evaluator.and_then(|evaluator| current_place(evaluator)))
    }
}

/// The params of the request to the backend.
fn params(target: &ItemRef, arguments: &RawRef) -> Result<Raw, String> {
    let text = match target.kind {
        ItemKind::Tool | ItemKind::Prompt => {
            format!("{{\"name\":{},\"arguments\":{}}}", quote(&target.name), arguments.get())
        }
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            let object = Object::of(arguments).map_err(|error| error.to_string())?;
            let uri = object.string("uri").ok_or("pass {\"uri\": ...} to read a resource")?;
            // A plain resource has one URI, whatever name the script publishes it under.
            let uri = if target.kind == ItemKind::Resource { target.name.to_string() } else { uri };
            format!("{{\"uri\":{}}}", quote(&uri))
        }
    };
    proxy_json::valid(text).map_err(|error| error.to_string())
}

/// The result as a script sees it: final, without fields of a protocol revision, and with a reason if it is an error.
fn final_result(result: Raw) -> Raw {
    let Ok(object) = Object::of(&result) else {
        return error_result("invalid response: the result is not an object");
    };
    if object.string("resultType").is_some_and(|kind| kind != "complete") {
        return error_result("the server returned a `resultType` that a script cannot use");
    }
    let failed = object.get("isError").is_some_and(|flag| flag.get() == "true");
    let explained = object.get("content").is_some_and(|content| content.get().contains("\"text\""));
    if failed && !explained {
        return error_result("the tool failed and gave no reason");
    }
    if object.get("resultType").is_none() {
        return result;
    }
    object.edit().remove("resultType").remove("ttlMs").remove("cacheScope").finish_raw()
}
