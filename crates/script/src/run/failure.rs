//! A run that ended without a result.

use std::any::Any;
use std::fmt;

use serde_json::Value;
use starlark::{Error, ErrorKind};

use crate::errors::report;
use crate::journal::MAX_JOURNAL;
use crate::{Context, Limits, Stop, StopReason};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::grouped_digits::grouped;
use proxy_model::RefusalReason;

/// Parts of the engine's panic messages about values that are too large.
const TOO_LARGE: [&str; 3] = ["AlignedSize", "out of memory", "capacity overflow"];

/// How a run ended without a result: what the caller of a script gets. Unlike a [`ScriptError`](crate::errors::script_error::ScriptError)
/// it is not raised into a script.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// One sentence, without position and call stack.
    pub message: String,
    pub diagnostic: Box<Diagnostic>,
    /// Whether it was the function that runs before the one that was called.
    pub in_hook: bool,
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// The script called `fail()`, with this `data`.
    Failed { data: Option<Value> },
    /// An error in the script, or in what it was given.
    Error,
    /// The run exceeded the limit of this name.
    Limit(&'static str),
    /// The run was stopped from outside of the script.
    Stopped(Stop),
    /// The run took longer than the timeout of its function; with data for programs.
    TimedOut { data: Value },
    /// The arguments were refused before the function ran.
    InvalidArguments,
}

impl Failure {
    /// The text for a client, as in `message (policy.star:12)`: without folder, call stack and source.
    pub fn for_client(&self) -> String {
        match &self.diagnostic.place {
            Some(place) => format!("{} ({})", self.message, place.short()),
            None => self.message.clone(),
        }
    }

    /// The failure of a run that ended with an error of the engine.
    pub fn of(error: &Error, context: &Context, limits: &Limits) -> Self {
        let mut diagnostic = report::diagnose(error);
        let kind = failure_kind(error, context);
        if let Some(message) = message_for(&kind, limits) {
            diagnostic.message = message;
            diagnostic.hint = None;
        }
        Failure { kind, message: diagnostic.message.clone(), diagnostic: Box::new(diagnostic), in_hook: false }
    }

    /// The failure of a run in which the engine panicked. A panic about a value that is too large counts as the memory limit.
    pub(crate) fn panicked_in_run(payload: Box<dyn Any + Send>, limits: &Limits) -> Self {
        let mut failure = Failure::panicked(payload);
        if failure.is_about_size() {
            failure.kind = FailureKind::Limit("memory");
            failure.diagnostic.hint = None;
            if let Some(message) = message_for(&failure.kind, limits) {
                failure.message.clone_from(&message);
                failure.diagnostic.message = message;
            }
        }
        failure
    }

    /// Whether the engine panicked because a value was too large.
    pub fn is_about_size(&self) -> bool {
        TOO_LARGE.iter().any(|sign| self.message.contains(sign))
    }

    /// The failure for a panic of the engine.
    pub fn panicked(payload: Box<dyn Any + Send>) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Diagnostic::error(format!("the script engine panicked: {text}"))
            .hint("a script value is probably far too large")
            .into()
    }
}

impl Failure {
    /// Who refused the call, if it was refused.
    pub fn refusal(&self) -> Option<RefusalReason> {
        match &self.kind {
            FailureKind::Failed { .. } if self.in_hook => Some(RefusalReason::OnRequest),
            FailureKind::Failed { .. } => Some(RefusalReason::Handler),
            FailureKind::InvalidArguments => Some(RefusalReason::Schema),
            _ => None,
        }
    }

    /// Where in the script the call was refused or failed, as in `policy.star:12`.
    pub fn short_place(&self) -> Option<String> {
        self.diagnostic.place.as_ref().map(|place| place.short())
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure {
            kind: FailureKind::Error,
            message: diagnostic.message.clone(),
            diagnostic: Box::new(diagnostic),
            in_hook: false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The error that `fail()` raises into the script.
#[derive(Debug)]
pub struct Failed {
    pub text: String,
    pub data: Option<Value>,
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Error::new_kind(ErrorKind::Fail(failed.into()))
    }
}

/// The error of a check before a function: its arguments are not what it takes.
#[derive(Debug)]
pub struct InvalidArguments(pub String);

impl fmt::Display for InvalidArguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidArguments {}

impl From<InvalidArguments> for Error {
    fn from(invalid: InvalidArguments) -> Self {
        Error::new_native(invalid)
    }
}

fn failure_kind(error: &Error, context: &Context) -> FailureKind {
    match context.stop_reason() {
        Some(StopReason::Stopped(stop)) => return FailureKind::Stopped(stop),
        Some(StopReason::Time) => return FailureKind::Limit("time"),
        Some(StopReason::Steps) => return FailureKind::Limit("steps"),
        Some(StopReason::Memory) => return FailureKind::Limit("memory"),
        Some(StopReason::JournalFull) => return FailureKind::Limit("journal"),
        Some(StopReason::Diverged | StopReason::Recursion) => return FailureKind::Error,
        None if matches!(error.kind(), ErrorKind::StackOverflow(_)) => return FailureKind::Limit("call stack"),
        None => {}
    }
    match report::inner::<Failed>(error) {
        Some(failed) => FailureKind::Failed { data: failed.data.clone() },
        None if report::inner::<InvalidArguments>(error).is_some() => FailureKind::InvalidArguments,
        None => FailureKind::Error,
    }
}

fn message_for(kind: &FailureKind, limits: &Limits) -> Option<String> {
    let over = match kind {
        FailureKind::Stopped(stop) => return Some(stop.as_str().to_owned()),
        FailureKind::Limit("time") => format!("{} ms of computing time", limits.time.as_millis()),
        FailureKind::Limit("steps") => format!("{} steps", grouped(limits.steps)),
        FailureKind::Limit("memory") => format!("{} MiB of memory", limits.memory >> 20),
        FailureKind::Limit("journal") => {
            format!("{} MiB for effects before an elicitation", MAX_JOURNAL >> 20)
        }
        FailureKind::Limit(_) => format!("{} nested calls", limits.stack),
        FailureKind::Failed { .. }
        | FailureKind::TimedOut { .. }
        | FailureKind::InvalidArguments
        | FailureKind::Error => return None,
    };
    Some(format!("the script used more than its limit of {over}"))
}

impl Context {
    /// Whether an error ends the run: a stop or a limit, which a script cannot catch.
    pub fn is_final(&self, error: &Error) -> bool {
        self.stop_reason().is_some() || matches!(error.kind(), ErrorKind::StackOverflow(_))
    }
}
