//! Calls of published items: looked up in the surface, admitted by `on_request`, then handled by a script or forwarded.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

use super::asking::{self, WaitingMemory};
use super::call_outcome;
use super::context::{ItemCall, RequestContext};
use super::dispatch::Dispatcher;
use super::failed::failed;
use super::flow::{FlowCaller, FlowGuard, FlowItem, Passage, Verdict};
use super::handler::host::RequestHost;
use super::handler::request_state::RequestState;
use super::handler::run::{HandlerRun, HandlerWork, ambiguous, malformed};
use super::permit::Permit;
use super::published_uri::with_published_uri;
use super::test_overrides::TestOverrides;
use crate::results::PagedResults;
use crate::surface::{PublishedItem, Surface};
use proxy_builtins::Handler;
use proxy_fiber::Pool;
use proxy_json::{Object, Raw, check_unique_keys, raw};
use proxy_mcp_client::{BackendCall, CallError, Cancellation, Peer};
use proxy_model::flow::Labels;
use proxy_model::{
    CallOutcome, HandledCall, ItemKind, ItemRef, JournalSnapshot, Owner, Principal, RefusalReason, RequestInfo,
    error_text,
};
use proxy_script::{Host, Journal, JournalCursor, Relay};
use proxy_store::Store;
use proxy_telemetry::CallRecording;

/// The error of a call whose answers arrive after the session script was replaced.
pub const POLICY_CHANGED: &str = "the session script changed while the call waited for your answer; call again";

/// A statement at the interactive prompt.
pub struct PromptRequest {
    pub principal: Principal,
    pub cancel: Cancellation,
    pub recording: Arc<CallRecording>,
    pub surface: Option<Arc<Surface>>,
}

/// Everything that calls need, shared by all of them.
#[derive(Clone)]
pub struct Calls {
    pub dispatcher: Dispatcher,
    pub pool: Pool,
    /// Holds rate limits, suspended calls and the values that scripts store.
    pub store: Store,
    /// Splits large results of tools into pages, and keeps them.
    pub results: Arc<PagedResults>,
    /// Bounds the memory of calls that wait for an answer.
    pub waiting: WaitingMemory,
    /// Replaces the clock, the log and effects in tests.
    pub test_overrides: Option<Arc<dyn TestOverrides>>,
}

impl Calls {
    /// Calls a tool, reads a resource or gets a prompt.
    pub async fn item(&self, request: &RequestContext, call: ItemCall) -> Result<Raw, CallError> {
        let kind = call.kind;
        let outcome = match self.checked_item(request, call).await {
            Err(CallError::Stopped(message)) => failed(kind, message, None),
            outcome => outcome,
        };
        if let Some(recording) = &request.recording {
            // An error result is how most scripts refuse a call after a limit was exceeded or nobody approved.
            if let Ok(result) = &outcome
                && call_outcome::of_result(result) == CallOutcome::ToolError
            {
                recording.failed(|| error_text(result));
            }
            if let Some(outcome) = outcome.as_ref().err().and_then(call_outcome::without_response) {
                recording.set_no_response(outcome);
            }
            recording.note(|noted| {
                let (counted, result) = (call_outcome::of_call(outcome.as_ref()), outcome.as_ref().ok().cloned());
                noted.replay.handled = Some(HandledCall { outcome: counted, result });
            });
        }
        outcome
    }

    async fn checked_item(&self, request: &RequestContext, call: ItemCall) -> Result<Raw, CallError> {
        if let Err(reason) = self.audit_gate(request) {
            return failed(call.kind, reason, None);
        }
        if let Some(own) = call.own {
            return Box::pin(self.read_kept(request, call, own)).await;
        }
        if let Some(backend) = call.unlisted_on.clone() {
            return self.unlisted(request, call, &backend).await;
        }
        let Some(entry) = request.surface.find(call.kind, &call.key) else {
            self.note_unknown(request, call.kind, &call.key);
            return Err(CallError::Unknown);
        };
        let permit = match self.use_permit(request, entry, &call) {
            Ok(permit) => permit,
            Err(refused) => return refused,
        };
        if let Some(refused) = self.lock_refusal(request, entry) {
            return failed(call.kind, refused, None);
        }
        let renamed = own_uri(entry, &call).map(|original| (Arc::clone(original), call.key.clone()));
        let result = match &entry.handler {
            Handler::Backend(target) => {
                let is_in_process = self.dispatcher.is_in_process(&target.backend);
                let guard = self.guard(request, || FlowItem::of(target, &call.params), call.kind.use_method());
                if !entry.param_headers().is_empty() {
                    // Arguments are read to make or check their headers.
                    check_arguments_are_unique(&call)?;
                }
                let guard = guard.map(|guard| guard.continuing(call.continues.clone().unwrap_or_default()));
                let mut is_agreed = false;
                if !is_in_process {
                    let checks_arguments = entry.argument_checks.is_some() || call.is_lowered;
                    match self.run_on_request(request, &call, checks_arguments, guard.as_ref()).await? {
                        Admitted::Answered(answer) => return Ok(answer),
                        Admitted::Passes { agreed } => is_agreed = agreed,
                    }
                }
                let permit = match permit.is_current(self.dispatcher.policies()) {
                    true => permit,
                    false => match self.use_permit(request, entry, &call) {
                        Ok(permit) => permit,
                        Err(refused) => return refused,
                    },
                };
                // A URI that matches a template is passed on as it is. Every other item has a key of its own on the
                // server.
                let is_template = entry.kind == ItemKind::ResourceTemplate;
                let original = if is_template { call.key.as_str() } else { target.name.as_ref() };
                let params = if original == call.key {
                    call.params.clone()
                } else {
                    let object = Object::of(&call.params).map_err(malformed)?;
                    object.edit().set(call.kind.use_member(), &raw(original)).finish_raw()
                };
                if is_in_process {
                    let work = HandlerWork::Local(target.clone(), params.clone(), permit.number());
                    let run = HandlerRun::new(request, work, ItemCall { params, ..call });
                    Box::pin(self.handle(request, run)).await?.ok_or_else(nothing_ran)?
                } else {
                    let mut sent = request.backend_call(call.kind.use_method(), params);
                    sent.accepts_tasks = call.accepts_task;
                    let passage = guard.map(|guard| Passage::new(guard, is_agreed));
                    self.forward(request, &target.backend, sent, permit, passage).await?
                }
            }
            Handler::Script(function) => {
                let run = HandlerRun::new(request, HandlerWork::Script(function.clone()), call);
                self.handle(request, run).await?.ok_or_else(nothing_ran)?
            }
        };
        Ok(match renamed {
            Some((original, published)) => with_published_uri(result, &original, &published),
            None => result,
        })
    }

    /// Why an item that is published as its server lists it cannot be used: it is not as an operator approved it. What a
    /// script's handler calls is checked when it is sent.
    fn lock_refusal(&self, request: &RequestContext, entry: &PublishedItem) -> Option<String> {
        let Handler::Backend(target) = &entry.handler else { return None };
        let reason = self.dispatcher.lock_refusal(target, request.peer.as_deref())?;
        if let Some(recording) = &request.recording {
            recording.refused(RefusalReason::Lock, || None, &reason);
        }
        Some(reason)
    }

    /// Refuses what is audited while the audit log is required and cannot be written.
    ///
    /// # Errors
    /// The reason, for the client.
    pub fn audit_gate(&self, request: &RequestContext) -> Result<(), String> {
        let refusal = self.dispatcher.telemetry().audit().and_then(|audit| audit.refusal());
        let Some(reason) = refusal else { return Ok(()) };
        if let Some(recording) = &request.recording {
            recording.refused(RefusalReason::Audit, || None, &reason);
        }
        Err(reason)
    }

    /// Reads a resource that is not published, from the backend whose result linked to it.
    async fn unlisted(&self, request: &RequestContext, call: ItemCall, backend: &Arc<str>) -> Result<Raw, CallError> {
        let permit = self.unlisted_permit(request, backend, &call.key)?;
        let target = ItemRef { backend: Arc::clone(backend), kind: ItemKind::Resource, name: call.key.as_str().into() };
        let guard = self.guard(request, || FlowItem::of(&target, &call.params), call.kind.use_method());
        let guard = guard.map(|guard| guard.continuing(call.continues.clone().unwrap_or_default()));
        let is_agreed = match self.run_on_request(request, &call, false, guard.as_ref()).await? {
            Admitted::Answered(answer) => return Ok(answer),
            Admitted::Passes { agreed } => agreed,
        };
        let permit = match permit.is_current(self.dispatcher.policies()) {
            true => permit,
            false => self.unlisted_permit(request, backend, &call.key)?,
        };
        let passage = guard.map(|guard| Passage::new(guard, is_agreed));
        let mut sent = request.backend_call(call.kind.use_method(), call.params);
        sent.accepts_tasks = call.accepts_task;
        self.forward(request, backend, sent, permit, passage).await
    }

    /// Runs the script's `on_request` for an item that has no script handler, and checks its arguments if the script
    /// changed its schema. Then a person is asked, if a flow rule says so.
    async fn run_on_request(
        &self,
        request: &RequestContext,
        call: &ItemCall,
        checks_arguments: bool,
        guard: Option<&FlowGuard>,
    ) -> Result<Admitted, CallError> {
        let asking = guard.filter(|guard| guard.may_ask());
        let continues = call.continues.is_some();
        let is_hooked = !continues && (checks_arguments || request.surface.on_request().is_some());
        if !is_hooked && asking.is_none() {
            return Ok(Admitted::Passes { agreed: false });
        }
        let agreed = Arc::new(AtomicBool::default());
        let flow = asking.cloned().map(Box::new);
        let work = HandlerWork::Admission { forwards: false, continues, flow, agreed: Arc::clone(&agreed) };
        let run = HandlerRun::new(request, work, call.clone());
        Ok(match Box::pin(self.handle(request, run)).await? {
            Some(answer) => Admitted::Answered(answer),
            None => Admitted::Passes { agreed: agreed.load(Ordering::Relaxed) },
        })
    }

    /// Forwards a request to a backend, with the permit of the policies. `flow` is that of a labelled item.
    pub async fn forward(
        &self,
        request: &RequestContext,
        backend: &Arc<str>,
        call: BackendCall,
        permit: Permit,
        flow: Option<Passage>,
    ) -> Result<Raw, CallError> {
        let recording = request.recording.as_deref();
        self.dispatcher.call(backend, call, permit, flow, recording).await.map(|answer| answer.result)
    }

    /// The guard of a request to a server. `None` without flow rules, or if the item has no labels.
    fn guard(
        &self,
        request: &RequestContext,
        item: impl FnOnce() -> FlowItem,
        method: impl Into<Cow<'static, str>>,
    ) -> Option<FlowGuard> {
        let caller = request.flow_caller(&self.store)?;
        FlowGuard::of(caller, &item(), method.into(), false)
    }

    /// What a request needs that no person can be asked about: one that is not the call of an item. `told` are the labels of
    /// what the call that it continues has told before.
    pub fn passage(
        &self,
        request: &RequestContext,
        method: &str,
        told: Labels,
        item: impl FnOnce() -> Option<FlowItem>,
    ) -> Option<Passage> {
        let caller = request.flow_caller(&self.store)?;
        let guard = FlowGuard::of(caller, &item()?, method.to_owned().into(), false)?;
        Some(Passage::new(guard.continuing(told), false))
    }

    /// The labels of what the conversation of a request has read.
    ///
    /// # Errors
    /// Why the store does not tell.
    pub async fn marks(&self, request: &RequestContext) -> Result<Labels, String> {
        match request.flow_caller(&self.store) {
            Some(caller) => Ok(caller.reading().await?.labels()),
            None => Ok(Labels::default()),
        }
    }

    /// Notes that the conversation of a request has read something with these labels.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub async fn mark(&self, request: &RequestContext, labels: &Labels, source: &str) -> Result<(), String> {
        match request.flow_caller(&self.store) {
            Some(caller) => caller.mark(labels, source).await,
            None => Ok(()),
        }
    }

    /// Asks the flow rules about something that is sent to a server and has no result.
    ///
    /// # Errors
    /// If a rule stops it.
    pub async fn admit_words(
        &self,
        surface: &Arc<Surface>,
        principal: &Principal,
        owner: Option<&Owner>,
        method: &str,
        item: impl FnOnce() -> FlowItem,
    ) -> Result<(), CallError> {
        let Some(caller) = FlowCaller::of(Some(surface), principal, owner, &self.store, None) else { return Ok(()) };
        let Some(guard) = FlowGuard::of(caller, &item(), method.to_owned().into(), false) else { return Ok(()) };
        match guard.verdict().await? {
            Verdict::Passes => Ok(()),
            Verdict::Asks(consent) => Err(guard.not_asked(&consent)),
        }
    }

    /// Runs a handler. Each time the handler asks questions, the client is asked and the handler runs again with the
    /// answers.
    pub(super) async fn handle(&self, request: &RequestContext, mut run: HandlerRun) -> Result<Option<Raw>, CallError> {
        let mut journal = run.take_journal();
        let run = Arc::new(run);
        loop {
            let outcome = self.run(request, &run, journal.take()).await;
            let Err(CallError::Asks(open)) = outcome else { return outcome };
            if request.retries_with_input {
                return Err(CallError::Asks(open));
            }
            match Box::pin(asking::answered(open, request, &self.waiting)).await {
                Ok(answered) => journal = Some(answered),
                Err(CallError::Failed { message, data }) => return failed(run.kind(), message, data).map(Some),
                Err(fault) => return Err(fault),
            }
            if request.policy.as_ref().is_some_and(|now| !now.is(request.surface.policy())) {
                return failed(run.kind(), POLICY_CHANGED.to_owned(), None).map(Some);
            }
            if let Err(refused) = self.continue_permit(request, run.call()) {
                return refused.map(Some);
            }
        }
    }

    /// A host outside of any client request, for the interactive prompt. Policies know the items of servers by their names
    /// in the surface.
    pub fn prompt_host(&self, prompt: PromptRequest, name: &str, runtime: Handle) -> Arc<Host> {
        let PromptRequest { principal, cancel, recording, surface } = prompt;
        let request = RequestInfo {
            method: ItemKind::Tool.use_method().into(),
            name: name.into(),
            principal,
            owner: None,
            client: Arc::default(),
            headers: Arc::default(),
            scope_rules: Arc::default(),
        };
        let host = self.request_host(request, None, cancel, runtime, name.into(), None);
        Arc::new(RequestHost { recording: Some(recording), surface, ..host }).host()
    }

    pub(super) fn request_host(
        &self,
        request: RequestInfo,
        peer: Option<Arc<dyn Peer>>,
        cancel: Cancellation,
        runtime: Handle,
        namespace: Arc<str>,
        cursor: Option<JournalCursor>,
    ) -> RequestHost {
        RequestHost {
            dispatcher: self.dispatcher.clone(),
            request_state: RequestState::of(&request, &self.store, &runtime).map(Arc::new),
            runtime,
            cancel,
            request,
            peer,
            cursor,
            store: self.store.clone(),
            namespace,
            question_count: Arc::default(),
            progress: Arc::default(),
            extension_call: None,
            relay: Relay::default(),
            recording: None,
            test_overrides: self.test_overrides.clone(),
            surface: None,
            observer: None,
            agreed: Arc::default(),
            unmarked: Arc::default(),
        }
    }

    async fn run(
        &self,
        request: &RequestContext,
        run: &Arc<HandlerRun>,
        journal: Option<JournalSnapshot>,
    ) -> Result<Option<Raw>, CallError> {
        let (kind, name): (ItemKind, Arc<str>) = (run.kind(), run.key().into());
        // A handler needs a journal only if the client can be asked: only then may it run a second time.
        let can_ask = journal.is_some() || request.peer.as_ref().is_some_and(|peer| peer.askable().answers_scripts());
        let cursor = can_ask.then(|| JournalCursor::first(Journal::of(journal.unwrap_or_default())));
        let namespace = Arc::clone(&request.surface.run.namespace);
        let script_request = request.info(kind.use_method().into(), Arc::clone(&name));
        let (peer, cancel) = (request.peer.clone(), request.cancel.clone());
        let host = self.request_host(script_request, peer, cancel, Handle::current(), namespace, cursor);
        let recording = request.recording.clone();
        let surface = Some(Arc::clone(&request.surface));
        let host = RequestHost { progress: Arc::clone(run.progress()), recording, surface, ..host };
        let (run, host) = (Arc::clone(run), Arc::new(host));
        let outcome = tokio::select! {
            biased;
            // Cancels a handler that is still queued for a worker. A running handler is stopped through its host.
            () = request.cancel.cancelled() => return Err(CallError::Cancelled),
            outcome = self.pool.run(move || run.run(&host)) => outcome,
        };
        outcome.unwrap_or_else(|error| {
            tracing::error!(item = %name, %error, "the handler did not finish");
            failed(kind, format!("the handler of `{name}` did not finish: {error}"), None).map(Some)
        })
    }
}

/// What came of a call before it is sent to its server.
enum Admitted {
    /// `on_request` has answered it, or it must not be made.
    Answered(Raw),
    Passes {
        /// Whether the person has agreed.
        agreed: bool,
    },
}

/// The backend's own URI of a resource that the client reads by another one.
fn own_uri<'a>(entry: &'a PublishedItem, call: &ItemCall) -> Option<&'a Arc<str>> {
    let target = match &entry.handler {
        Handler::Backend(target) => Some(target),
        Handler::Script(_) => entry.origin.as_ref(),
    };
    let own = target.filter(|target| entry.kind == ItemKind::Resource && target.kind == ItemKind::Resource);
    own.map(|target| &target.name).filter(|name| name.as_ref() != call.key)
}

/// Refuses arguments with duplicate keys.
pub(super) fn check_arguments_are_unique(call: &ItemCall) -> Result<(), CallError> {
    let params = Object::of(&call.params).map_err(malformed)?;
    params.get("arguments").map_or(Ok(()), |arguments| check_unique_keys(arguments).map_err(ambiguous))
}

fn nothing_ran() -> CallError {
    CallError::Failed { message: "the handler did not run".to_owned(), data: None }
}
