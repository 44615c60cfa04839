//! The only path to a backend: every call passes through [`Dispatcher`], whether a client, a handler or the command
//! line makes it. A call needs a [`Permit`]: callers ask the policies for it (`access.rs`, `handler/host.rs`). A call of a
//! labelled item has a [`Passage`], which asks the flow rules before and stores marks after. The dispatcher looks up the backend and counts calls and failures. Any other check for all calls of a backend belongs here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use foldhash::fast::RandomState;
use tokio::runtime::Handle;

use super::call_outcome;
use super::flow::Passage;
use super::logged_call::LoggedCall;
use super::permit::Permit;
use proxy_identity::cedar::CurrentPolicies;
use proxy_json::Raw;
use proxy_mcp_client::{Answer, Backend, BackendCall, CallError, Peer, Subscriber, Subscription, UpdateListener};
use proxy_model::{CallRefusal, ItemRef, Owner, RefusalReason, ServerAddress, ServerCallRecord, SpanId};
use proxy_telemetry::{CallRecording, ServerStats, Telemetry};

/// The configured backends by name, with their call statistics. A reload creates a new dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    backends: Arc<HashMap<Arc<str>, DispatchTarget, RandomState>>,
    telemetry: Arc<Telemetry>,
    policies: CurrentPolicies,
}

/// A backend and its statistics.
struct DispatchTarget {
    backend: Arc<dyn Backend>,
    stats: Arc<ServerStats>,
    address: Option<Arc<ServerAddress>>,
}

impl Dispatcher {
    pub fn new(backends: &[Arc<dyn Backend>]) -> Self {
        Dispatcher { backends: Arc::default(), telemetry: Arc::default(), policies: CurrentPolicies::default() }
            .with(backends)
    }

    /// A dispatcher for other backends that continues the statistics of this one. If two backends share a name, the
    /// last one wins.
    pub fn with(&self, backends: &[Arc<dyn Backend>]) -> Self {
        let targets = backends.iter().map(|backend| {
            let name = Arc::clone(&backend.view().name);
            let stats = self.telemetry.server(&name);
            let address = backend.connected().and_then(|server| server.address());
            (name, DispatchTarget { backend: Arc::clone(backend), stats, address })
        });
        Dispatcher {
            backends: Arc::new(targets.collect()),
            telemetry: Arc::clone(&self.telemetry),
            policies: self.policies.clone(),
        }
    }

    /// The policies in force. A reload replaces them for calls under way too.
    pub fn policies(&self) -> &CurrentPolicies {
        &self.policies
    }

    /// What is counted of all calls.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Calls a backend.
    pub async fn call(
        &self,
        backend: &Arc<str>,
        mut call: BackendCall,
        _permit: Permit,
        flow: Option<Passage>,
        recording: Option<&CallRecording>,
    ) -> Result<Answer, CallError> {
        let target = self.find(backend)?;
        if let Some(reason) = refusal(target, &call) {
            if let Some(recording) = recording {
                recording.refused(RefusalReason::Lock, || None, &reason);
            }
            return Err(CallError::Locked(reason));
        }
        let sent = match flow {
            Some(passage) => Some(passage.enter(&mut call, Handle::current()).await?),
            None => None,
        };
        let span = self.span(target, &mut call, recording);
        let counted = CountedCall::begin(backend, &call, target, recording, span);
        let outcome = target.backend.call(call).await;
        counted.end(&outcome);
        match sent {
            Some(sent) => sent.leave(outcome).await,
            None => outcome,
        }
    }

    /// Why an item of a backend cannot be used by this client, whatever the arguments: it is not as an operator approved it.
    pub fn lock_refusal(&self, item: &ItemRef, client: Option<&dyn Peer>) -> Option<String> {
        self.find(&item.backend).ok()?.backend.lock(client)?.item_refusal(item.kind, &item.name)
    }

    /// Subscribes to a resource of a backend until the returned subscription is dropped.
    pub async fn subscribe(
        &self,
        backend: &Arc<str>,
        uri: &str,
        subscriber: &Subscriber,
        listener: UpdateListener,
        _permit: Permit,
    ) -> Result<Subscription, CallError> {
        match self.find(backend)?.backend.connected() {
            Some(server) => server.subscribe(uri, subscriber, listener).await,
            None => Err(CallError::no_subscriptions(backend)),
        }
    }

    /// How often a resource of a backend in this process is refreshed for clients that follow it; `None` if it is not.
    pub fn refresh_interval(&self, backend: &Arc<str>, uri: &str) -> Option<Duration> {
        self.find(backend).ok()?.backend.local()?.refresh_interval(uri)
    }

    /// Reads a resource of a backend in this process for clients that follow it. The error is for the log.
    pub async fn refresh(&self, backend: &Arc<str>, call: BackendCall, _permit: Permit) -> Result<Answer, CallError> {
        let target = self.find(backend)?;
        let counted = CountedCall::begin(backend, &call, target, None, None);
        let outcome = match target.backend.local() {
            Some(local) => local.refresh(call).await,
            None => Err(CallError::no_subscriptions(backend)),
        };
        counted.end(&outcome);
        outcome
    }

    /// Calls a backend from a handler and blocks the handler until the result arrives. Tools of extensions run on the
    /// handler's own stack.
    pub fn call_blocking(
        &self,
        backend: &Arc<str>,
        mut call: BackendCall,
        _permit: Permit,
        flow: Option<Passage>,
        runtime: &Handle,
        recording: Option<&CallRecording>,
    ) -> Result<Answer, CallError> {
        let target = self.find(backend)?;
        if let Some(why) = refusal(target, &call) {
            if let Some(recording) = recording {
                recording.inner_refused(CallRefusal { reason: RefusalReason::Lock, at: None, why: why.clone() });
            }
            return Err(CallError::Locked(why));
        }
        let sent =
            flow.map(|passage| proxy_fiber::wait(passage.enter(&mut call, runtime.clone()), runtime)).transpose()?;
        let span = self.span(target, &mut call, recording);
        let logged = LoggedCall::begin(backend, &call);
        let counted = CountedCall::begin(backend, &call, target, recording, span);
        let outcome = target.backend.call_blocking(call, runtime);
        counted.end(&outcome);
        if let Some(logged) = logged {
            logged.end(&outcome);
        }
        match sent {
            Some(sent) => proxy_fiber::wait(sent.leave(outcome), runtime),
            None => outcome,
        }
    }

    /// The span of a call, which a server gets to know as the parent of its own; `None` if the request is not traced.
    fn span(
        &self,
        target: &DispatchTarget,
        call: &mut BackendCall,
        recording: Option<&CallRecording>,
    ) -> Option<SpanId> {
        let tracer = self.telemetry.tracer()?;
        let trace = recording.and_then(|recording| recording.trace());
        if target.backend.is_in_process() {
            return trace.and_then(|_| SpanId::random());
        }
        tracer.propagate(&mut call.params, trace.map(Arc::as_ref))
    }

    /// Whether calls of a backend run in this process, as a part of the handler that makes them.
    pub fn is_in_process(&self, backend: &Arc<str>) -> bool {
        self.find(backend).is_ok_and(|target| target.backend.is_in_process())
    }

    /// Whether everybody has a connection of their own to a backend.
    pub fn is_per_person(&self, backend: &Arc<str>) -> bool {
        self.find(backend).is_ok_and(|target| target.backend.per_person().is_some())
    }

    /// Sends a notification to a backend.
    pub async fn notify(&self, backend: &Arc<str>, method: String, mut params: Option<Raw>, _permit: Permit) {
        if let (Some(tracer), Some(params)) = (self.telemetry.tracer(), &mut params) {
            tracer.propagate(params, None);
        }
        if let Some(server) = self.find(backend).ok().and_then(|target| target.backend.connected()) {
            server.notify(method, params).await;
        }
    }

    /// Sends `notifications/roots/list_changed` to every backend that has a connection of its own for this client.
    pub async fn roots_changed(&self, owner: &Owner) {
        for server in self.backends.values().filter_map(|target| target.backend.connected()) {
            server.roots_changed(owner).await;
        }
    }

    fn find(&self, backend: &Arc<str>) -> Result<&DispatchTarget, CallError> {
        self.backends.get(backend).ok_or_else(|| CallError::Down {
            backend: Arc::clone(backend),
            reason: "it is no longer configured".to_owned(),
        })
    }
}

/// Why a call does not fit what an operator approved of the item; `None` if it does.
fn refusal(target: &DispatchTarget, call: &BackendCall) -> Option<String> {
    target.backend.lock(call.peer.as_deref())?.refusal(&call.method, &call.params)
}

/// A call of a backend that is counted, and recorded if somebody reads records.
struct CountedCall<'a> {
    began: Instant,
    method: Cow<'static, str>,
    stats: &'a ServerStats,
    recording: Option<&'a CallRecording>,
    details: Option<CallDetails>,
}

struct CallDetails {
    server: Arc<str>,
    began: SystemTime,
    params: Raw,
    is_local: bool,
    address: Option<Arc<ServerAddress>>,
    span: Option<SpanId>,
}

impl<'a> CountedCall<'a> {
    fn begin(
        server: &Arc<str>,
        call: &BackendCall,
        target: &'a DispatchTarget,
        recording: Option<&'a CallRecording>,
        span: Option<SpanId>,
    ) -> Self {
        let is_read = recording.is_some_and(|recording| recording.details().is_some());
        let details = || CallDetails {
            server: Arc::clone(server),
            began: SystemTime::now(),
            params: Raw::clone(&call.params),
            is_local: target.backend.is_in_process(),
            address: target.address.clone(),
            span,
        };
        let (began, method) = (Instant::now(), call.method.clone());
        CountedCall { began, method, stats: &target.stats, recording, details: is_read.then(details) }
    }

    fn end(self, outcome: &Result<Answer, CallError>) {
        let ended = Instant::now();
        let duration: Duration = ended - self.began;
        let result = outcome.as_ref().map(|answer| &answer.result);
        let counted = call_outcome::of_call(result);
        // Without a log-in nothing reaches the server.
        if !matches!(outcome, Err(CallError::LogInFirst { .. })) {
            self.stats.record(&self.method, ended, duration, &counted);
        }
        let Some(recording) = self.recording else { return };
        let record = self.details.map(|details| ServerCallRecord {
            server: details.server,
            method: self.method,
            began: details.began,
            duration,
            params: details.params,
            result: result.ok().cloned(),
            outcome: counted,
            is_local: details.is_local,
            address: details.address,
            span: details.span,
        });
        recording.server_called(duration, record);
    }
}
