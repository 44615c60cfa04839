//! An extension as a backend: called like any server, but its tools run here.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{CallFault, Extension, ExtensionItem};
use crate::backend::{Answer, Backend, Call, CallError};
use crate::fiber::Pool;
use crate::json::{Object, Raw, RawRef};
use crate::model::{BackendKind, BackendView, ItemKind, ItemRef, Lists, Request, ServerInfo, Status, error_result};
use crate::script::{FailureKind, Host, JournalCursor, Limits, LogLevel, Question, Stop};
use crate::store::Store;
use crate::wire::{RpcError, code};

pub struct ExtensionBackend {
    extension: Extension,
    view: Arc<BackendView>,
    namespace: Arc<str>,
    pool: Pool,
}

impl ExtensionBackend {
    pub fn new(extension: Extension, pool: Pool) -> Self {
        let mut lists = Lists::default();
        for item in &extension.items {
            lists.of_mut(item.kind).push(Arc::clone(&item.definition));
        }
        let offered = ItemKind::ALL.into_iter().filter(|kind| !lists.of(*kind).is_empty());
        let capabilities: Map<String, Value> = offered.map(|kind| (kind.capability().to_owned(), json!({}))).collect();
        let view = BackendView {
            name: extension.name.as_str().into(),
            kind: BackendKind::Extension,
            status: Status::Ready,
            error: String::new(),
            info: Arc::new(ServerInfo {
                name: extension.name.clone(),
                version: extension.version.clone(),
                instructions: String::new(),
                capabilities: capabilities.into(),
                ..ServerInfo::default()
            }),
            lists: Arc::new(lists),
            start_time: None,
            reports: Arc::default(),
        };
        let namespace = format!("extension:{}", extension.name).into();
        ExtensionBackend { extension, view: Arc::new(view), namespace, pool }
    }

    pub fn name(&self) -> &str {
        &self.extension.name
    }

    pub fn source_name(&self) -> &str {
        &self.extension.source_name
    }

    /// The files it was made from beside its own.
    pub fn files(&self) -> &[PathBuf] {
        &self.extension.files
    }

    fn job(&self, call: &Call) -> Result<Job, CallError> {
        let invalid = |message: &str| CallError::Rpc(RpcError::invalid_params(message));
        let kinds = ItemKind::ALL.into_iter().filter(|kind| kind.use_method() == call.method);
        let Some(kind) = kinds.into_iter().next() else {
            return Err(CallError::Rpc(RpcError::method_not_found(&call.method)));
        };
        let object = Object::of(&call.params).map_err(|error| invalid(&error.to_string()))?;
        let key = object.string(kind.use_member()).unwrap_or_default();
        let item = self.find(kind, &key).ok_or_else(|| unknown(kind, &key))?.clone();
        let arguments = match item.kind {
            ItemKind::Tool | ItemKind::Prompt => {
                object.get("arguments").map_or_else(|| crate::json::raw(&json!({})), RawRef::to_owned)
            }
            ItemKind::Resource | ItemKind::ResourceTemplate => item.reading(&key),
        };
        let host = Arc::new(LocalHost {
            extension: Arc::clone(&self.view.name),
            namespace: Arc::clone(&self.namespace),
            runtime: Handle::current(),
            cancel: call.cancel.clone(),
            deadline: call.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            caller: call.host.clone(),
        });
        Ok(Job { item, key, arguments, host })
    }

    /// A URI that is no resource may fit a template.
    fn find(&self, kind: ItemKind, key: &str) -> Option<&ExtensionItem> {
        let fitting = || self.extension.of(ItemKind::ResourceTemplate).find(|item| item.variables(key).is_some());
        self.extension.find(kind, key).or_else(|| if kind == ItemKind::Resource { fitting() } else { None })
    }
}

fn unknown(kind: ItemKind, key: &str) -> CallError {
    let code = if kind == ItemKind::Resource { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
    CallError::Rpc(RpcError::new(code, &format!("unknown {}: {key}", kind.noun())))
}

/// A call ready to run on any thread.
struct Job {
    item: ExtensionItem,
    key: String,
    arguments: Raw,
    host: Arc<LocalHost>,
}

impl Job {
    fn run(self) -> Result<Answer, CallError> {
        let called = self.item.call(&self.arguments, self.host, &Limits::HANDLER);
        match called.and_then(|returned| self.item.shaped(returned, &self.key)) {
            Ok(result) => Ok(Answer { result }),
            Err(CallFault::Failed(failure)) if matches!(failure.kind, FailureKind::Stopped(Stop::Cancelled)) => {
                Err(CallError::Cancelled)
            }
            Err(CallFault::Failed(failure)) if matches!(failure.kind, FailureKind::Stopped(Stop::Input)) => {
                Err(CallError::Asks)
            }
            Err(fault) => failed(&self.item, &fault),
        }
    }
}

/// For a tool an error is a result; for the others it is one of the protocol.
fn failed(item: &ExtensionItem, fault: &CallFault) -> Result<Answer, CallError> {
    let mut data = None;
    if let CallFault::Failed(failure) = fault {
        tracing::warn!(item = item.definition.key(), "{}", failure.diagnostic);
        if let FailureKind::Failed { data: given } = &failure.kind {
            data.clone_from(given);
        }
    }
    let text = fault.to_string();
    match (item.kind, fault) {
        (ItemKind::Tool, _) => Ok(Answer { result: error_result(&text) }),
        (_, CallFault::Arguments(_)) => Err(CallError::Rpc(RpcError::invalid_params(&text))),
        _ => Err(CallError::Rpc(match &data {
            Some(data) => RpcError::with_data(code::INTERNAL, &text, data),
            None => RpcError::internal(&text),
        })),
    }
}

impl Backend for ExtensionBackend {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(async move {
            let job = self.job(&call)?;
            self.pool.run(move || job.run()).await.unwrap_or_else(|error| {
                tracing::error!(extension = self.name(), %error, "a tool did not finish");
                Ok(Answer { result: error_result(&format!("the tool did not finish: {error}")) })
            })
        })
    }

    fn runs_here(&self) -> bool {
        true
    }

    /// On the caller's own thread: a handler that calls a local tool must not wait for a second worker.
    fn call_blocking(&self, call: Call, _: &Handle) -> Result<Answer, CallError> {
        self.job(&call)?.run()
    }
}

/// What a local tool may do: what the handler may that called it, but not call servers.
struct LocalHost {
    extension: Arc<str>,
    /// Of what it remembers.
    namespace: Arc<str>,
    runtime: Handle,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    /// The handler that called it, or that stands for its client.
    caller: Option<Arc<dyn Host>>,
}

impl Host for LocalHost {
    fn call(&self, _: &ItemRef, _: &RawRef, _: Option<Duration>, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Ok(error_result("an extension cannot call servers"))
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        fields.insert("extension".to_owned(), json!(self.extension.as_ref()));
        match &self.caller {
            Some(caller) => caller.log(level, message, &fields),
            None => level.record(message, &fields),
        }
    }

    fn stopped(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Stop::Deadline)
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let late = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let wait = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::Cancelled),
                () = late => Err(Stop::Deadline),
                () = future => Ok(()),
            }
        };
        crate::fiber::wait(wait, &self.runtime)
    }

    fn now(&self) -> SystemTime {
        self.caller.as_ref().map_or_else(SystemTime::now, |caller| caller.now())
    }

    fn request(&self) -> Option<&Request> {
        self.caller.as_ref()?.request()
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        self.caller.as_ref()?.stands_in(kind, request)
    }

    fn store(&self) -> Option<&Store> {
        self.caller.as_ref()?.store()
    }

    fn asked(&self) -> u64 {
        self.caller.as_ref().map_or(0, |caller| caller.asked())
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn line(&self) -> Option<JournalCursor> {
        self.caller.as_ref()?.line()
    }

    fn can_ask(&self, question: &Question) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.can_ask(question))
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(caller) = &self.caller {
            caller.progress(done, total, message);
        }
    }
}
