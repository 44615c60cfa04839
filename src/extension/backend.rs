//! An extension as a backend: called like any server, but its tools run here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{CallFault, Extension, ExtensionTool};
use crate::backend::{Answer, Backend, Call, CallError};
use crate::json::{Object, Raw, RawRef};
use crate::model::{BackendKind, BackendView, ItemKind, ItemRef, Lists, ServerInfo, Status, error_result, shaped};
use crate::script::{FailureKind, Host, Limits, LogLevel, Pool, Stop};
use crate::wire::RpcError;

pub struct ExtensionBackend {
    extension: Extension,
    view: Arc<BackendView>,
    pool: Pool,
}

impl ExtensionBackend {
    pub fn new(extension: Extension, pool: Pool) -> Self {
        let tools = extension.tools.iter().map(|tool| Arc::clone(&tool.definition)).collect();
        let view = BackendView {
            name: extension.name.as_str().into(),
            kind: BackendKind::Extension,
            status: Status::Ready,
            error: String::new(),
            info: Arc::new(ServerInfo {
                name: extension.name.clone(),
                version: extension.version.clone(),
                instructions: String::new(),
                capabilities: json!({"tools": {}}),
                ..ServerInfo::default()
            }),
            lists: Arc::new(Lists { tools, ..Lists::default() }),
            start_time: None,
            reports: Arc::default(),
        };
        ExtensionBackend { extension, view: Arc::new(view), pool }
    }

    pub fn name(&self) -> &str {
        &self.extension.name
    }

    pub fn source_name(&self) -> &str {
        &self.extension.source_name
    }

    fn job(&self, call: &Call) -> Result<Job, CallError> {
        if call.method != ItemKind::Tool.use_method() {
            return Err(CallError::Rpc(RpcError::method_not_found(&call.method)));
        }
        let invalid = |message: &str| CallError::Rpc(RpcError::invalid_params(message));
        let object = Object::parse(call.params.get()).map_err(|error| invalid(&error.to_string()))?;
        let name = object.string("name").unwrap_or_default();
        let tool = self.extension.tools.iter().find(|tool| tool.definition.key() == name);
        let tool = tool.ok_or_else(|| invalid(&format!("unknown tool: {name}")))?.clone();
        let arguments = object.get("arguments").map_or_else(|| crate::json::raw(&json!({})), RawRef::to_owned);
        let host = Arc::new(LocalHost {
            extension: Arc::clone(&self.view.name),
            runtime: Handle::current(),
            cancel: call.cancel.clone(),
            deadline: call.timeout.map(|timeout| Instant::now() + timeout),
        });
        Ok(Job { tool, arguments, host })
    }
}

/// A call ready to run on any thread.
struct Job {
    tool: ExtensionTool,
    arguments: Raw,
    host: Arc<LocalHost>,
}

impl Job {
    fn run(self) -> Result<Answer, CallError> {
        let result = match self.tool.call(&self.arguments, self.host, &Limits::HANDLER) {
            Ok(value) => crate::json::raw(&shaped(value, true)),
            Err(CallFault::Failed(failure)) if matches!(failure.kind, FailureKind::Stopped(Stop::Cancelled)) => {
                return Err(CallError::Cancelled);
            }
            Err(CallFault::Failed(failure)) => {
                tracing::warn!(tool = self.tool.definition.key(), "{}", failure.diagnostic);
                error_result(&failure.for_client())
            }
            Err(fault) => error_result(&fault.to_string()),
        };
        Ok(Answer { result })
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

    /// On the caller's own thread: a handler that calls a local tool must not wait for a second worker.
    fn call_blocking(&self, call: Call, _: &Handle) -> Result<Answer, CallError> {
        self.job(&call)?.run()
    }
}

/// What a local tool may do: log, and be stopped.
struct LocalHost {
    extension: Arc<str>,
    runtime: Handle,
    cancel: CancellationToken,
    deadline: Option<Instant>,
}

impl Host for LocalHost {
    fn call(&self, _: &ItemRef, _: &RawRef, _: Option<Duration>) -> Result<Raw, Stop> {
        Ok(error_result("an extension cannot call servers"))
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        fields.insert("extension".to_owned(), json!(self.extension.as_ref()));
        level.record(message, &fields);
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
        crate::script::wait(wait, &self.runtime)
    }
}
