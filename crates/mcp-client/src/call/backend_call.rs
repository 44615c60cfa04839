//! The request that a backend is called with, independent of the revision and transport the backend speaks.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::cancellation::Cancellation;
use super::peer::Peer;
use proxy_json::Raw;

/// The extension by which stateless revisions declare support for tasks.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A request to a backend. `params` hold the backend's own names and no reserved `_meta` keys.
pub struct BackendCall {
    /// Borrowed for methods that MCP defines, owned for methods that only the client knows.
    pub method: Cow<'static, str>,
    pub params: Raw,
    /// The caller's own timeout, whatever progress is reported. The backend's limits apply as well.
    pub timeout: Option<Duration>,
    pub cancel: Cancellation,
    /// The client the call is made for. Without one, progress and log messages are dropped and questions fail.
    pub peer: Option<Arc<dyn Peer>>,
    /// Whether `input_required` results are returned to the caller instead of being answered here.
    pub forwards_input_requests: bool,
    /// Whether the caller accepts a task as the result. For other callers the proxy waits until the task has ended.
    pub accepts_tasks: bool,
    /// Whether [`TASKS_EXTENSION`] is declared to a stateless server even if the client did not declare it.
    pub declares_tasks: bool,
    /// The handler's host that the call is part of, for backends in this process, which know its type.
    pub host: Option<Arc<dyn Any + Send + Sync>>,
}

impl BackendCall {
    /// A call without a client to ask and without a timeout of its own.
    pub fn new(method: impl Into<Cow<'static, str>>, params: Raw) -> Self {
        BackendCall {
            method: method.into(),
            params,
            timeout: None,
            cancel: Cancellation::default(),
            peer: None,
            forwards_input_requests: false,
            accepts_tasks: false,
            declares_tasks: false,
            host: None,
        }
    }

    /// The same call once more.
    pub(crate) fn again(&self) -> Self {
        BackendCall {
            method: self.method.clone(),
            params: Raw::clone(&self.params),
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            peer: self.peer.clone(),
            forwards_input_requests: self.forwards_input_requests,
            accepts_tasks: self.accepts_tasks,
            declares_tasks: self.declares_tasks,
            host: self.host.clone(),
        }
    }
}

/// The final result of a call, as the backend sent it.
#[derive(Debug)]
pub struct Answer {
    pub result: Raw,
}
