//! How a run ended without a result.

use std::any::Any;
use std::fmt;

use serde_json::Value;
use starlark::{Error, ErrorKind};

use super::meter::StopReason;
use super::{Context, Limits, Stop, report};
use crate::diagnostic::Diagnostic;

/// What the engine says when it breaks down over a value too large for it.
const TOO_LARGE: [&str; 3] = ["AlignedSize", "out of memory", "capacity overflow"];

#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// In one sentence, without place and stack.
    pub message: String,
    pub diagnostic: Box<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// The script called `fail()`.
    Failed { data: Option<Value> },
    /// The script went wrong.
    Error,
    /// It computed too much: which limit.
    Limit(&'static str),
    /// It was stopped from outside.
    Stopped(Stop),
}

impl Failure {
    /// `message (policy.star:12)`: what a client may see. No folder, no stack, no source.
    pub fn for_client(&self) -> String {
        match &self.diagnostic.place {
            Some(place) => format!("{} ({})", self.message, place.short()),
            None => self.message.clone(),
        }
    }

    pub fn of(error: &Error, context: &Context, limits: &Limits) -> Self {
        let mut diagnostic = report::diagnose(error);
        let kind = kind(error, context);
        if let Some(message) = rephrased(&kind, limits) {
            diagnostic.message = message;
            diagnostic.hint = None;
        }
        Failure { kind, message: diagnostic.message.clone(), diagnostic: Box::new(diagnostic) }
    }

    /// The engine broke down in the middle of a run.
    pub fn broke_down(payload: Box<dyn Any + Send>, limits: &Limits) -> Self {
        let mut failure = Failure::panicked(payload);
        if failure.is_about_size() {
            failure.kind = FailureKind::Limit("memory");
            failure.diagnostic.hint = None;
            if let Some(message) = rephrased(&failure.kind, limits) {
                failure.message.clone_from(&message);
                failure.diagnostic.message = message;
            }
        }
        failure
    }

    /// Whether the engine broke down over a value too large for it.
    pub fn is_about_size(&self) -> bool {
        TOO_LARGE.iter().any(|sign| self.message.contains(sign))
    }

    pub fn panicked(payload: Box<dyn Any + Send>) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Diagnostic::error(format!("the script engine broke down: {text}"))
            .hint("a value of the script is probably far too large")
            .into()
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure { kind: FailureKind::Error, message: diagnostic.message.clone(), diagnostic: Box::new(diagnostic) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// What `fail()` raises.
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

fn kind(error: &Error, context: &Context) -> FailureKind {
    match context.why() {
        Some(StopReason::Stopped(stop)) => return FailureKind::Stopped(stop),
        Some(StopReason::Time) => return FailureKind::Limit("time"),
        Some(StopReason::Steps) => return FailureKind::Limit("steps"),
        Some(StopReason::Memory) => return FailureKind::Limit("memory"),
        Some(StopReason::Journal) => return FailureKind::Limit("journal"),
        Some(StopReason::Diverged | StopReason::Endless) => return FailureKind::Error,
        None if matches!(error.kind(), ErrorKind::StackOverflow(_)) => return FailureKind::Limit("call stack"),
        None => {}
    }
    match report::inner::<Failed>(error) {
        Some(failed) => FailureKind::Failed { data: failed.data.clone() },
        None => FailureKind::Error,
    }
}

fn rephrased(kind: &FailureKind, limits: &Limits) -> Option<String> {
    let over = match kind {
        FailureKind::Stopped(stop) => return Some(stop.as_str().to_owned()),
        FailureKind::Limit("time") => format!("{} ms of computing time", limits.time.as_millis()),
        FailureKind::Limit("steps") => format!("{} steps", limits.steps),
        FailureKind::Limit("memory") => format!("{} MiB of memory", limits.memory >> 20),
        FailureKind::Limit("journal") => {
            format!("{} MiB for what it did before a question", super::journal::MAX_JOURNAL >> 20)
        }
        FailureKind::Limit(_) => format!("{} nested calls", limits.stack),
        FailureKind::Failed { .. } | FailureKind::Error => return None,
    };
    Some(format!("the script used more than its limit of {over}"))
}

impl Context {
    /// Whether an error ends the run whatever the script wants: a stop or a limit, never to be caught.
    pub fn is_final(&self, error: &Error) -> bool {
        self.why().is_some() || matches!(error.kind(), ErrorKind::StackOverflow(_))
    }
}
