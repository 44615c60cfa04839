//! A use of something published: a tool called, a resource read, a prompt asked for.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::asking;
use super::asking::WaitingRoom;
use super::dispatch::Dispatcher;
use super::host::RequestHost;
use super::job::{Job, Work, failed};
use super::request_state::RequestState;
use super::test_overrides::TestOverrides;
use crate::backend::{Call, CallError, Peer};
use crate::builtins::Handler;
use crate::fiber::Pool;
use crate::json::{Object, Raw, quote};
use crate::model::{ClientInfo, ItemKind, Principal, Request};
use crate::script::{Host, Journal, JournalCursor, JournalSnapshot};
use crate::store::Store;
use crate::surface::Surface;

/// Who calls, and what is known of the request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Principal,
    /// What the client says of itself.
    pub client: Arc<ClientInfo>,
    /// Those headers of the request that scripts may see.
    pub headers: Arc<[(String, String)]>,
    /// Whether the script's `on_request` has let this very call through: it goes on after a question of its server.
    pub admitted: bool,
    pub cancel: CancellationToken,
    /// The way to tell and ask them; none where there is none.
    pub peer: Option<Arc<dyn Peer>>,
    /// The client's revision has structured content for objects only.
    pub objects_only: bool,
    /// The client makes a call again by itself when a server asks something.
    pub takes_rounds: bool,
    /// The client asked for a task, or knows what to do with one.
    pub takes_tasks: bool,
    /// The answer may come however late, within what the server's config allows.
    pub patient: bool,
    /// What the handler did in an earlier round, with the answers to what it asked.
    pub past: Option<JournalSnapshot>,
    /// The digest of the session script as it is now; none where it cannot change.
    pub policy: Option<PolicyNow>,
}

/// Which session script is in force; none if there is none any more.
#[derive(Clone)]
pub struct PolicyNow(Arc<dyn Fn() -> Option<Arc<str>> + Send + Sync>);

impl PolicyNow {
    pub fn new(look: impl Fn() -> Option<Arc<str>> + Send + Sync + 'static) -> Self {
        PolicyNow(Arc::new(look))
    }

    fn is(&self, policy: &Arc<str>) -> bool {
        (self.0)().is_some_and(|now| now == *policy)
    }
}

impl std::fmt::Debug for PolicyNow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PolicyNow")
    }
}

/// What a call ends with if its answers come to another script than its questions came from.
pub const POLICY_CHANGED: &str = "the policy changed while the question was open; call again";

/// Why a call has no result.
#[derive(Debug)]
pub enum CallFault {
    /// Nothing of that name is published.
    Unknown,
    Backend(CallError),
    /// A handler of a resource or prompt failed; a tool's failure is a result.
    Failed {
        message: String,
        data: Option<Value>,
    },
    /// A handler asks something, and the caller makes the call again with the answers.
    Asks(JournalSnapshot),
    /// The call was cancelled: nobody waits for an answer.
    Cancelled,
}

/// Everything that calls need, shared by all of them.
#[derive(Clone)]
pub struct Calls {
    pub dispatcher: Dispatcher,
    pub pool: Pool,
    /// Where rate limits, waiting calls and what scripts remember are kept.
    pub store: Store,
    /// Calls that wait for somebody's answer.
    pub waiting: WaitingRoom,
    /// Other surroundings than this machine's.
    pub test_overrides: Option<Arc<dyn TestOverrides>>,
}

impl Calls {
    /// Uses what is published under `key`. `params` are the client's, without reserved `_meta` keys.
    pub async fn item(
        &self,
        surface: &Arc<Surface>,
        kind: ItemKind,
        key: &str,
        params: Raw,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let entry = surface.find(kind, key).ok_or(CallFault::Unknown)?;
        match &entry.handler {
            Handler::Backend(target) => {
                let runs_here = self.dispatcher.runs_here(&target.backend);
                if !runs_here && let Some(answer) = self.asked_first(surface, kind, key, &params, &caller).await? {
                    return Ok(answer);
                }
                // A URI that fits a template stays the URI it is; everything else goes by its original key.
                let original = if entry.kind == ItemKind::ResourceTemplate { key } else { &target.name };
                let params = if original == key {
                    params
                } else {
                    Object::of(&params).map_err(malformed)?.edit().set(kind.use_member(), quote(original)).finish_raw()
                };
                if runs_here {
                    let work = Work::Local(target.clone(), params.clone());
                    let job = Job::new(surface, kind, key, work, params, &caller);
                    return Box::pin(self.handle(job, caller)).await?.ok_or_else(nothing_ran);
                }
                self.forward(&target.backend, kind.use_method(), params, caller).await
            }
            Handler::Script(function) => {
                let job = Job::new(surface, kind, key, Work::Script(function.clone()), params, &caller);
                self.handle(job, caller).await?.ok_or_else(nothing_ran)
            }
        }
    }

    /// Reads a resource of a backend that is not published by itself: the client has it from a link.
    pub async fn unlisted(
        &self,
        surface: &Arc<Surface>,
        backend: &Arc<str>,
        uri: &str,
        params: Raw,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let kind = ItemKind::Resource;
        if let Some(answer) = self.asked_first(surface, kind, uri, &params, &caller).await? {
            return Ok(answer);
        }
        self.forward(backend, kind.use_method(), params, caller).await
    }

    /// What the script's `on_request` says to the use of something that no handler of its own stands for; none to go on.
    async fn asked_first(
        &self,
        surface: &Arc<Surface>,
        kind: ItemKind,
        key: &str,
        params: &Raw,
        caller: &Caller,
    ) -> Result<Option<Raw>, CallFault> {
        if caller.admitted || surface.on_request().is_none() {
            return Ok(None);
        }
        let job = Job::new(surface, kind, key, Work::Hook, Raw::clone(params), caller);
        Box::pin(self.handle(job, caller.clone())).await
    }

    /// Sends a request on to a backend.
    pub async fn forward(
        &self,
        backend: &Arc<str>,
        method: impl Into<Cow<'static, str>>,
        params: Raw,
        caller: Caller,
    ) -> Result<Raw, CallFault> {
        let call = Call {
            method: method.into(),
            params,
            timeout: caller.patient.then_some(Duration::MAX),
            cancel: caller.cancel,
            peer: caller.peer,
            passes_questions_on: caller.takes_rounds,
            takes_tasks: caller.takes_tasks,
            declares_tasks: false,
            host: None,
        };
        match self.dispatcher.call(backend, call).await {
            Ok(answer) => Ok(answer.result),
            Err(CallError::Cancelled) => Err(CallFault::Cancelled),
            Err(error) => Err(CallFault::Backend(error)),
        }
    }

    /// Runs a handler, and again with the answers as long as it asks something.
    async fn handle(&self, job: Job, mut caller: Caller) -> Result<Option<Raw>, CallFault> {
        let (job, mut past) = (Arc::new(job), caller.past.take());
        loop {
            let outcome = self.run(&job, &caller, past.take()).await;
            let Err(CallFault::Asks(open)) = outcome else { return outcome };
            if caller.takes_rounds {
                return Err(CallFault::Asks(open));
            }
            match Box::pin(asking::answered(open, &caller, &self.waiting)).await {
                Ok(answered) => past = Some(answered),
                Err(CallFault::Failed { message, data }) => return failed(job.kind, message, data).map(Some),
                Err(fault) => return Err(fault),
            }
            if caller.policy.as_ref().is_some_and(|now| !now.is(job.surface.policy())) {
                return failed(job.kind, POLICY_CHANGED.to_owned(), None).map(Some);
            }
        }
    }

    /// What may be done in somebody's name where no handler runs: at a prompt.
    pub fn host(&self, caller: &Caller, name: &str, runtime: Handle) -> Arc<Host> {
        Arc::new(self.request_host(caller, ItemKind::Tool, name.into(), runtime, name.into(), None)).host()
    }

    fn request_host(
        &self,
        caller: &Caller,
        kind: ItemKind,
        name: Arc<str>,
        runtime: Handle,
        namespace: Arc<str>,
        line: Option<JournalCursor>,
    ) -> RequestHost {
        let request = Request {
            method: kind.use_method(),
            name,
            principal: caller.principal.clone(),
            owner: caller.peer.as_ref().map(|peer| peer.owner().clone()),
            client: Arc::clone(&caller.client),
            headers: Arc::clone(&caller.headers),
        };
        RequestHost {
            dispatcher: self.dispatcher.clone(),
            request_state: RequestState::of(&request, &self.store, &runtime).map(Arc::new),
            runtime,
            cancel: caller.cancel.clone(),
            request,
            peer: caller.peer.clone(),
            cursor: line,
            store: self.store.clone(),
            namespace,
            asked: Arc::default(),
            test_overrides: self.test_overrides.clone(),
        }
    }

    async fn run(
        &self,
        job: &Arc<Job>,
        caller: &Caller,
        past: Option<JournalSnapshot>,
    ) -> Result<Option<Raw>, CallFault> {
        let (kind, name): (ItemKind, Arc<str>) = (job.kind, job.key.as_str().into());
        // Where nobody can be asked nothing has to be written down.
        let asks = past.is_some() || caller.peer.as_ref().is_some_and(|peer| peer.askable().form);
        let line = asks.then(|| JournalCursor::first(Journal::of(past.unwrap_or_default())));
        let namespace = Arc::clone(&job.surface.namespace);
        let host = Arc::new(self.request_host(caller, kind, Arc::clone(&name), Handle::current(), namespace, line));
        let job = Arc::clone(job);
        let outcome = tokio::select! {
            biased;
            // While it waits for a place it is not started at all; a running handler is stopped through its host.
            () = caller.cancel.cancelled() => return Err(CallFault::Cancelled),
            outcome = self.pool.run(move || job.run(&host)) => outcome,
        };
        outcome.unwrap_or_else(|error| {
            tracing::error!(item = %name, %error, "a handler did not finish");
            failed(kind, format!("the handler of `{name}` did not finish: {error}"), None).map(Some)
        })
    }
}

pub(super) fn malformed(error: crate::json::ObjectError) -> CallFault {
    CallFault::Failed { message: error.to_string(), data: None }
}

fn nothing_ran() -> CallFault {
    CallFault::Failed { message: "the handler did not run".to_owned(), data: None }
}
