//! What a running handler may do to the world.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use starlark::eval::Evaluator;

use crate::json::{Raw, RawRef};
use crate::model::{ItemRef, Request};
use crate::store::Store;

use super::journal::{JournalCursor, Question};

/// Implemented by whoever runs handlers, handed down with each call. Blocking: called on a worker thread.
pub trait Host: Send + Sync {
    /// Calls a backend's tool. `Ok` is the result object as JSON; failures of the backend are already shaped as error
    /// results, so only a stop of the whole call is an `Err`.
    ///
    /// `line` is where what happens inside of the call is written down, if it runs in this process.
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        timeout: Option<Duration>,
        line: Option<JournalCursor>,
    ) -> Result<Raw, Stop>;

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>);

    /// A line for whoever wrote the script; where nobody reads along it goes to the log.
    fn print(&self, text: &str) {
        self.log(LogLevel::Info, text, &Map::new());
    }

    /// Asked now and then while the script computes.
    fn stopped(&self) -> Option<Stop>;

    /// Waits for something; a cancelled call and a deadline end the wait.
    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop>;

    /// What the clock shows.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// What is said in the world's place by a test that must not reach it: to a request, a command or a statement.
    /// `kind` is the name of the built-in, `request` what it was asked for.
    fn stands_in(&self, _kind: &str, _request: &RawRef) -> Option<Result<Raw, String>> {
        None
    }

    /// The same for whoever has the evaluator at hand that runs the handler: what answers may be a function that can run
    /// there only.
    fn stands_in_here<'v>(
        &self,
        kind: &str,
        request: &RawRef,
        _evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> Option<Result<Raw, String>> {
        self.stands_in(kind, request)
    }

    /// The host itself, for built-ins that work with one kind of host only.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The request that is being handled; none where there is none.
    fn request(&self) -> Option<&Request> {
        None
    }

    /// Where what outlives the call is kept; none where nothing is.
    fn store(&self) -> Option<&Store> {
        None
    }

    /// How often a person was to be asked something in this request so far, by the handler or by what it calls.
    fn asked(&self) -> u64 {
        0
    }

    /// Whose values the handler sees in the store: each script and each extension has its own.
    fn namespace(&self) -> &str {
        ""
    }

    /// Where what the handler does is written down; none where it never has to be told again.
    fn line(&self) -> Option<JournalCursor> {
        None
    }

    /// Whether somebody can be asked this.
    fn can_ask(&self, _question: &Question) -> bool {
        false
    }

    /// Tells how far the handler has come, if anybody wants to know.
    fn progress(&self, _done: f64, _total: Option<f64>, _message: Option<&str>) {}
}

impl dyn Host + '_ {
    /// Waits for what a future gives; the thread goes on with other handlers meanwhile.
    pub fn wait_for<T>(&self, future: impl Future<Output = T>) -> Result<T, Stop> {
        let mut output = None;
        {
            let future = std::pin::pin!(async { output = Some(future.await) });
            self.wait(future)?;
        }
        // A future that did not end was stopped.
        output.ok_or(Stop::Cancelled)
    }
}

/// Why a call must end from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Cancelled,
    Deadline,
    /// A person has to answer first; then the handler is run again.
    Input,
}

impl Stop {
    pub fn as_str(self) -> &'static str {
        match self {
            Stop::Cancelled => "the call was cancelled",
            Stop::Deadline => "the call's deadline has passed",
            Stop::Input => "the call waits for an answer",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
    /// Never filtered away.
    Audit,
}

impl LogLevel {
    /// Writes a line of a script to the proxy's own log.
    pub fn record(self, message: &str, fields: &Map<String, Value>) {
        let fields = if fields.is_empty() { String::new() } else { Value::Object(fields.clone()).to_string() };
        match self {
            LogLevel::Debug => tracing::debug!(target: "script", fields, "{message}"),
            LogLevel::Info => tracing::info!(target: "script", fields, "{message}"),
            LogLevel::Warning => tracing::warn!(target: "script", fields, "{message}"),
            LogLevel::Error => tracing::error!(target: "script", fields, "{message}"),
            // Never filtered away, whatever the level of the log.
            LogLevel::Audit => tracing::error!(target: "audit", fields, "{message}"),
        }
    }

    pub const NAMES: [&'static str; 5] = ["debug", "info", "warning", "error", "audit"];

    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Audit => "audit",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "debug" => Some(LogLevel::Debug),
            "info" => Some(LogLevel::Info),
            "warning" => Some(LogLevel::Warning),
            "error" => Some(LogLevel::Error),
            "audit" => Some(LogLevel::Audit),
            _ => None,
        }
    }
}
