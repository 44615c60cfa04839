//! What built-ins find of the run they are in: the evaluator carries it as its `extra`.
#![expect(unsafe_code, reason = "the derive for the evaluator's `extra` writes an unsafe impl")]

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use serde_json::Map;
use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;

use super::journal::JournalCursor;
use super::meter::{Meter, StopReason};
use super::{Host, Limits, LogLevel, ScriptError, Stop};

/// A line logged before there was anybody to log it to.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: String,
    pub fields: Map<String, serde_json::Value>,
}

/// One run: of a script at its top level, or of a handler.
#[derive(ProvidesStaticType)]
pub struct Context {
    /// What the built-ins of this script share for as long as its functions live.
    pub world: Arc<dyn Any + Send + Sync>,
    /// Who answers for effects; at the top level nobody.
    pub host: Option<Arc<dyn Host>>,
    /// What was logged at the top level, for the caller to log.
    pub log: RefCell<Vec<LogLine>>,
    pub(super) meter: Meter,
    /// Where what is done is written down; none where nothing has to be.
    pub(super) line: RefCell<Option<JournalCursor>>,
    /// How deep inside of branches of branches it runs.
    pub(super) depth: usize,
    /// What has begun and must not begin again before it has ended, from the outside in.
    within: RefCell<Vec<String>>,
    /// A line at a prompt may do what the top level may, and what handlers may.
    at_prompt: bool,
    /// What to do about an effect at the top level.
    cure: &'static str,
}

impl Context {
    pub fn top(world: Arc<dyn Any + Send + Sync>, limits: &Limits) -> Self {
        Context {
            world,
            host: None,
            log: RefCell::default(),
            meter: Meter::new(limits),
            line: RefCell::default(),
            depth: 0,
            within: RefCell::default(),
            at_prompt: false,
            cure: "do it inside a function that runs when a call comes",
        }
    }

    /// Says where in this kind of file something is done that the top level may not do.
    pub fn with_cure(mut self, cure: &'static str) -> Self {
        self.cure = cure;
        self
    }

    pub(super) fn handler(world: Arc<dyn Any + Send + Sync>, host: Arc<dyn Host>, limits: &Limits) -> Self {
        let line = RefCell::new(host.line());
        Context { host: Some(host), line, ..Context::top(world, limits) }
    }

    /// For one of several functions that run beside each other.
    pub(super) fn branch(&self, line: Option<JournalCursor>) -> Self {
        Context {
            world: Arc::clone(&self.world),
            host: self.host.clone(),
            log: RefCell::default(),
            meter: self.meter.branch(),
            line: RefCell::new(line),
            depth: self.depth + 1,
            within: self.within.clone(),
            at_prompt: false,
            cure: self.cure,
        }
    }

    /// For a part of the same run, before another host and with limits of its own.
    pub(super) fn part(&self, host: Option<Arc<dyn Host>>, meter: Meter) -> Self {
        let line = self.line.borrow().clone();
        Context { host, meter, depth: self.depth, at_prompt: self.at_prompt, ..self.branch(line) }
    }

    /// For a line that a person tries.
    pub fn prompt(world: Arc<dyn Any + Send + Sync>, host: Arc<dyn Host>, limits: &Limits) -> Self {
        Context { at_prompt: true, ..Context::handler(world, host, limits) }
    }

    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Context> {
        let missing = || super::script_error("this function works in scripts of the proxy only");
        evaluator.extra.and_then(|extra| extra.downcast_ref::<Context>()).ok_or_else(missing)
    }

    /// The host, for an effect that only a handler may have.
    pub fn host_for(&self, effect: &str) -> Result<&Arc<dyn Host>, ScriptError> {
        self.host.as_ref().ok_or_else(|| {
            ScriptError::new(format!("{effect} is possible only while a call is handled, not at the top level"))
                .hint(self.cure)
        })
    }

    /// Refuses what only the top level may do.
    pub fn require_top(&self, what: &str) -> Result<(), ScriptError> {
        if self.host.is_none() || self.at_prompt {
            return Ok(());
        }
        Err(ScriptError::new(format!("{what} works only at the top level of the session script, not in a handler"))
            .hint("what tools exist is decided once, when the script runs; move the call out of the handler"))
    }

    /// Runs something that must not come to itself again on its way. If it does, the whole run ends with what `again` says.
    pub fn not_within_itself<T>(
        &self,
        name: &str,
        again: impl FnOnce() -> ScriptError,
        run: impl FnOnce() -> starlark::Result<T>,
    ) -> starlark::Result<T> {
        if self.within.borrow().iter().any(|begun| begun == name) {
            self.meter.stop(StopReason::Endless);
            return Err(again().into());
        }
        self.within.borrow_mut().push(name.to_owned());
        let outcome = run();
        self.within.borrow_mut().pop();
        outcome
    }

    pub fn world<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.world.downcast_ref()
    }

    pub fn log(&self, level: LogLevel, message: &str, fields: Map<String, serde_json::Value>) -> starlark::Result<()> {
        if self.host.is_some() {
            return self.tell("log", |host| host.log(level, message, &fields));
        }
        self.log.borrow_mut().push(LogLine { level, message: message.to_owned(), fields });
        Ok(())
    }

    pub fn print(&self, text: &str) -> starlark::Result<()> {
        if self.host.is_some() {
            return self.tell("print", |host| host.print(text));
        }
        self.log(LogLevel::Info, text, Map::new())
    }

    /// Waits for somebody else: the time is not the script's own, and a stop ends the run whatever the script does.
    pub fn wait<T>(&self, wait: impl FnOnce() -> Result<T, Stop>) -> starlark::Result<T> {
        self.meter.waiting(wait).map_err(|stop| {
            self.meter.stop(StopReason::Stopped(stop));
            super::script_error(stop.as_str())
        })
    }

    pub(super) fn must_stop(&self, memory: usize) -> bool {
        self.meter.must_stop(self.host.as_ref(), memory)
    }

    /// Why the run was stopped, if it was.
    pub fn why(&self) -> Option<StopReason> {
        self.meter.why()
    }
}
