//! A use of something published: a tool called, a resource read, a prompt asked for.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::dispatch::Dispatcher;
use super::host::RequestHost;
use super::surface::{Entry, Surface, arguments_value};
use super::surroundings::Surroundings;
use crate::backend::{Call, CallError, Party};
use crate::builtins::Handler;
use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{ClientInfo, ItemKind, Principal, Request, error_result, shaped, shaped_contents, shaped_messages};
use crate::script::{Failure, FailureKind, Function, Limits, Pool, Stop};
use crate::store::Store;

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
    pub party: Option<Arc<dyn Party>>,
    /// The client's revision has structured content for objects only.
    pub objects_only: bool,
    /// The client makes a call again by itself when a server asks something.
    pub takes_rounds: bool,
    /// The client asked for a task, or knows what to do with one.
    pub takes_tasks: bool,
    /// The answer may come however late, within what the server's config allows.
    pub patient: bool,
}

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
    /// Other surroundings than this machine's.
    pub surroundings: Option<Arc<dyn Surroundings>>,
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
                if let Some(answer) = self.asked_first(surface, kind, key, &params, &caller).await? {
                    return Ok(answer);
                }
                // A URI that fits a template stays the URI it is; everything else goes by its original key.
                let original = if entry.kind == ItemKind::ResourceTemplate { key } else { &target.name };
                let params = if original == key {
                    params
                } else {
                    Object::parse(params.get())
                        .map_err(malformed)?
                        .edit()
                        .set(kind.use_member(), quote(original))
                        .finish_raw()
                };
                self.forward(&target.backend, kind.use_method(), params, caller).await
            }
            Handler::Script(function) => {
                let job = Job::new(surface, kind, key, Some(function.clone()), &params, &caller)?;
                let nothing = || CallFault::Failed { message: "the handler did not run".to_owned(), data: None };
                self.run(job, caller).await?.ok_or_else(nothing)
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
        params: &RawRef,
        caller: &Caller,
    ) -> Result<Option<Raw>, CallFault> {
        if caller.admitted || surface.on_request().is_none() {
            return Ok(None);
        }
        let job = Job::new(surface, kind, key, None, params, caller)?;
        self.run(job, caller.clone()).await
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
            party: caller.party,
            passes_questions_on: caller.takes_rounds,
            takes_tasks: caller.takes_tasks,
            declares_tasks: false,
        };
        match self.dispatcher.call(backend, call).await {
            Ok(answer) => Ok(answer.result),
            Err(CallError::Cancelled) => Err(CallFault::Cancelled),
            Err(error) => Err(CallFault::Backend(error)),
        }
    }

    async fn run(&self, job: Job, caller: Caller) -> Result<Option<Raw>, CallFault> {
        let (kind, name): (ItemKind, Arc<str>) = (job.kind, job.key.as_str().into());
        let host = Arc::new(RequestHost {
            dispatcher: self.dispatcher.clone(),
            runtime: tokio::runtime::Handle::current(),
            cancel: caller.cancel.clone(),
            request: Request {
                method: kind.use_method(),
                name: Arc::clone(&name),
                principal: caller.principal,
                owner: caller.party.as_ref().map(|party| party.owner().clone()),
                client: caller.client,
                headers: caller.headers,
            },
            party: caller.party,
            store: self.store.clone(),
            namespace: Arc::clone(&job.surface.namespace),
            surroundings: self.surroundings.clone(),
        });
        let outcome = tokio::select! {
            biased;
            // While it waits for a place it is not started at all; a running handler is stopped through its host.
            () = caller.cancel.cancelled() => return Err(CallFault::Cancelled),
            outcome = self.pool.run(move || job.run(host)) => outcome,
        };
        outcome.unwrap_or_else(|error| {
            tracing::error!(item = %name, %error, "a handler did not finish");
            failed(kind, format!("the handler of `{name}` did not finish: {error}"), None).map(Some)
        })
    }
}

/// A use of a script's handler, with all that is computed for it: none of that belongs on the thread that serves
/// everybody. It keeps the surface, in which the handler's code lives, to its end.
struct Job {
    surface: Arc<Surface>,
    kind: ItemKind,
    key: String,
    /// None if only `on_request` is to be asked.
    function: Option<Function>,
    arguments: Option<Raw>,
    objects_only: bool,
}

impl Job {
    fn new(
        surface: &Arc<Surface>,
        kind: ItemKind,
        key: &str,
        function: Option<Function>,
        params: &RawRef,
        caller: &Caller,
    ) -> Result<Self, CallFault> {
        Ok(Job {
            surface: Arc::clone(surface),
            kind,
            key: key.to_owned(),
            function,
            arguments: Object::parse(params.get()).map_err(malformed)?.get("arguments").map(RawRef::to_owned),
            objects_only: caller.objects_only,
        })
    }

    /// None if `on_request` alone was asked, and lets it go on.
    fn run(self, host: Arc<RequestHost>) -> Result<Option<Raw>, CallFault> {
        let entry = self.surface.find(self.kind, &self.key);
        let hook = self.surface.on_request();
        let checked = match (&self.function, entry) {
            (Some(function), Some(entry)) => {
                handler_arguments(entry, &self.key, self.arguments.as_deref()).map(|checked| Some((function, checked)))
            }
            _ => Ok(None),
        };
        let (function, arguments) = match (&checked, hook) {
            (Ok(Some((function, arguments))), None) => ((*function).clone(), arguments.clone()),
            (Ok(Some((function, arguments))), Some(hook)) => (hook.before((*function).clone()), arguments.clone()),
            (Ok(None) | Err(_), Some(hook)) => (hook.alone(), self.named_arguments()),
            (Ok(None), None) => return Ok(None),
            (Err(reason), None) => return failed(self.kind, reason.clone(), None).map(Some),
        };
        match (function.call(&arguments, host, &Limits::HANDLER), checked) {
            (Ok(Value::Null), Ok(None)) => Ok(None),
            (Ok(Value::Null), Err(reason)) => failed(self.kind, reason, None).map(Some),
            (Ok(returned), _) => finished(entry, self.kind, &self.key, returned, self.objects_only).map(Some),
            (Err(failure), _) => stopped(self.kind, &self.key, &failure).map(Some),
        }
    }

    /// What `on_request` sees of a use whose arguments nobody has looked at.
    fn named_arguments(&self) -> Raw {
        match self.kind {
            ItemKind::Tool | ItemKind::Prompt => self.arguments.clone().unwrap_or_else(|| crate::json::raw(&json!({}))),
            ItemKind::Resource | ItemKind::ResourceTemplate => crate::json::raw(&json!({ "uri": self.key })),
        }
    }
}

/// What a script handler is called with.
fn handler_arguments(entry: &Entry, key: &str, arguments: Option<&RawRef>) -> Result<Raw, String> {
    match entry.kind {
        ItemKind::Tool => checked_arguments(entry, arguments),
        ItemKind::Prompt => Ok(arguments.map_or_else(|| crate::json::raw(&json!({})), RawRef::to_owned)),
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

fn checked_arguments(entry: &Entry, arguments: Option<&RawRef>) -> Result<Raw, String> {
    let tool = entry.definition.key();
    let value = match arguments_value(arguments) {
        Ok(value @ Value::Object(_)) => value,
        _ => return Err(format!("the arguments of `{tool}` must be an object")),
    };
    if let Some(schema) = &entry.schemas().input {
        schema.check(&value).map_err(|mismatch| {
            let shape = entry.definition.member("inputSchema").map(|schema| shape(&schema)).unwrap_or_default();
            format!("invalid arguments for `{tool}`: {mismatch}. It takes {shape}")
        })?;
    }
    Ok(arguments.map_or_else(|| crate::json::raw(&value), RawRef::to_owned))
}

/// The arguments of a tool in short, for whoever got them wrong: `{"name": string, "limit"?: integer}`.
fn shape(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties.map(|(name, property)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{}{mark}: {}", quote(name), property["type"].as_str().unwrap_or("any"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}

fn malformed(error: crate::json::ObjectError) -> CallFault {
    CallFault::Failed { message: error.to_string(), data: None }
}

fn failed(kind: ItemKind, message: String, data: Option<Value>) -> Result<Raw, CallFault> {
    match kind {
        ItemKind::Tool => Ok(error_result(&message)),
        _ => Err(CallFault::Failed { message, data }),
    }
}

fn stopped(kind: ItemKind, key: &str, failure: &Failure) -> Result<Raw, CallFault> {
    let data = match &failure.kind {
        FailureKind::Stopped(Stop::Cancelled) => return Err(CallFault::Cancelled),
        FailureKind::Failed { data } => data.clone(),
        _ => None,
    };
    tracing::warn!(item = key, "{}", failure.diagnostic);
    failed(kind, failure.for_client(), data)
}

fn finished(
    entry: Option<&Entry>,
    kind: ItemKind,
    key: &str,
    returned: Value,
    objects_only: bool,
) -> Result<Raw, CallFault> {
    let fault = |message| CallFault::Failed { message, data: None };
    match kind {
        ItemKind::Tool => {
            let result = shaped(returned, objects_only);
            Ok(entry.map_or_else(|| crate::json::raw(&result), |entry| kept_promise(entry, result.clone())))
        }
        ItemKind::Prompt => shaped_messages(returned).map(|result| crate::json::raw(&result)).map_err(fault),
        ItemKind::Resource | ItemKind::ResourceTemplate => {
            shaped_contents(returned, key).map(|result| crate::json::raw(&result)).map_err(fault)
        }
    }
}

/// Checks a result against the tool's own promise.
fn kept_promise(entry: &Entry, result: Map<String, Value>) -> Raw {
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    if let (false, Some(schema)) = (is_error, &entry.schemas().output) {
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
