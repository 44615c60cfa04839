//! What a running handler may use: one trait per concern, and [`Host`], which holds an implementation of each.
//!
//! A host that differs from another in one concern replaces that field and shares the others (`Host { effects, ..host }`),
//! so no implementation forwards methods to another. For the same reason none of the traits has default methods.

mod authorization;
mod call_options;
mod flow;
mod log_level;
mod outside_request;
mod stop;

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::journal::JournalCursor;
use proxy_base::watch::StampedFile;
use proxy_json::{Raw, RawRef};
use proxy_model::{CallRefusal, ItemRef, Question, RequestInfo};

pub use authorization::{Authorization, ToolFacts, ToolRefusal};
pub use call_options::{CallOptions, Relay};
pub use flow::FlowControl;
pub use log_level::LogLevel;
pub use starlark::eval::Evaluator;
pub use stop::Stop;

/// Everything that a handler can reach. Passed down with each call of a handler.
#[derive(Clone)]
pub struct Host {
    pub effects: Arc<dyn Effects>,
    pub output: Arc<dyn Output>,
    pub questions: Arc<dyn Questions>,
    pub scope: Arc<dyn RequestScope>,
    pub clock: Arc<dyn Clock>,
    /// What the caller may use. None if there are no policies: everything.
    pub authorization: Option<Arc<dyn Authorization>>,
    /// What the conversation of the caller has read. None without the section `flow` in the config.
    pub flow: Option<Arc<dyn FlowControl>>,
    /// Set while a test runs.
    pub mocks: Option<Arc<dyn Mocks>>,
    /// Separates the stored values of scripts and extensions: each has a namespace of its own.
    pub namespace: Arc<str>,
    /// What the test runner shares with the built-ins of a test; none outside of tests.
    pub test: Option<Arc<dyn Any + Send + Sync>>,
}

/// Calls to backends, and waiting. All methods are called on a worker thread and may block the calling fiber.
pub trait Effects: Send + Sync {
    /// Uses an item of a backend. `Ok` is the result object as JSON. A failure of the backend is returned as an error
    /// result, so `Err` always means that the whole run must stop.
    ///
    /// If the backend runs in this process, its own effects are recorded at `cursor`.
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop>;

    /// Waits for a future. Cancellation of the call and its deadline end the wait early.
    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop>;

    /// Whether the run must stop. Polled while the script computes.
    fn stopped(&self) -> Option<Stop>;
}

/// Text and numbers that a handler emits without waiting for an answer.
pub trait Output: Send + Sync {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>);

    /// Output of `print()`: shown to the author of the script at a prompt or in a test, otherwise logged.
    fn print(&self, text: &str);

    /// Sends a progress notification, if the client asked for them.
    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>);

    /// Sends a log message to the client, if the client wants messages of its level. `params` are those of the
    /// notification.
    fn notify(&self, params: &RawRef);
}

/// Questions to the person behind the client, and the journal that they need.
pub trait Questions: Send + Sync {
    /// Where the effects of the handler are recorded. None if the handler cannot be run again after a question, and so
    /// cannot ask any.
    fn cursor(&self) -> Option<JournalCursor>;

    /// Whether the client can show this question. Counted by [`Questions::asked`].
    fn can_ask(&self, question: &Question) -> bool;

    /// How many questions this request has had so far, from the handler and from everything that it calls.
    fn asked(&self) -> u64;
}

/// What a script did, as far as observers of the request need to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotedFact {
    /// It read a value that an earlier call may have stored.
    StateRead,
    /// A rate limit was exceeded.
    RateLimited,
    /// `cached()` had the result.
    CacheHit,
    /// Whether the answer to an elicitation was `accept`.
    Answered { is_accepted: bool },
    /// The script read its user or client, or used values that belong to the caller.
    CallerRead,
    /// It read a file with the module `data`.
    FileLoaded(StampedFile),
    /// A call that it made for the client was refused.
    Refused(CallRefusal),
}

/// The request that is being handled, and the store.
pub trait RequestScope: Send + Sync {
    /// None outside of a request.
    fn request(&self) -> Option<&RequestInfo>;

    /// Where values are stored that outlive the call, as a type that the built-ins know. None if there is no store.
    fn store(&self) -> Option<&(dyn Any + Send + Sync)>;

    /// Whether the caller may use a tool that is not published itself with these arguments, an object: its scopes, then the
    /// policies. Returns the number of the policies that allow it; `None` if there are none.
    fn admit(&self, tool: ToolFacts<'_>, arguments: &Value) -> Result<Option<u64>, ToolRefusal>;

    /// Records what the script did, for observers of the request.
    fn note(&self, fact: NotedFact);
}

/// The time of day as a script sees it.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;
}

/// Results that a test provides in place of real I/O.
pub trait Mocks: Send + Sync {
    /// The mocked result of an HTTP request, a command, a statement or a sleep; None if the test does not mock it. `kind`
    /// is the name of the built-in, `request` its arguments.
    ///
    /// A mock may be a function of the test. With an evaluator the function is called there.
    fn mock<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: Option<&mut Evaluator<'v, '_, '_>>,
    ) -> Option<Result<Raw, String>>;
}

impl Host {
    /// Waits for the result of a future. Other handlers run on the thread meanwhile.
    pub fn wait_for<T>(&self, future: impl Future<Output = T>) -> Result<T, Stop> {
        let mut output = None;
        {
            let future = std::pin::pin!(async { output = Some(future.await) });
            self.effects.wait(future)?;
        }
        // A wait that ended without a result was cancelled.
        output.ok_or(Stop::Cancelled)
    }

    /// The request that is being handled; see [`RequestScope::request`].
    pub fn request(&self) -> Option<&RequestInfo> {
        self.scope.request()
    }

    /// Whether the caller may use a tool; see [`RequestScope::admit`].
    pub fn admit(&self, tool: ToolFacts<'_>, arguments: &Value) -> Result<Option<u64>, ToolRefusal> {
        self.scope.admit(tool, arguments)
    }

    /// The store for values that outlive the call, if it is of this type; see [`RequestScope::store`].
    pub fn store<T: 'static>(&self) -> Option<&T> {
        self.scope.store()?.downcast_ref()
    }

    /// The mocked result of an effect, if a test runs and mocks it; see [`Mocks::mock`].
    pub fn mock<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        evaluator: Option<&mut Evaluator<'v, '_, '_>>,
    ) -> Option<Result<Raw, String>> {
        self.mocks.as_ref()?.mock(kind, request, evaluator)
    }
}
