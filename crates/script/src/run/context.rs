//! The context of a run, which built-ins find through the evaluator (as its `extra`).
#![expect(unsafe_code, reason = "the derive for the evaluator's `extra` writes an unsafe impl")]

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use serde_json::Map;
use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;

use super::meter::{Meter, StopReason};
use crate::journal::JournalCursor;
use crate::{Host, Limits, LogLevel, ScriptError, Stop, script_error};

/// A line that was logged at the top level of a script, where there is no host to log it.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: String,
    pub fields: Map<String, serde_json::Value>,
}

/// One run: of a script at its top level, or of a handler.
#[derive(ProvidesStaticType)]
pub struct Context {
    /// State that the built-ins of this script share for as long as its functions live.
    pub world: Arc<dyn Any + Send + Sync>,
    /// Performs the effects of a handler. None at the top level, which may have no effects.
    pub host: Option<Arc<Host>>,
    /// Lines logged at the top level. The caller of the script writes them to the log.
    pub log: RefCell<Vec<LogLine>>,
    pub(super) meter: Meter,
    /// Where effects are recorded. None if the handler cannot ask questions.
    pub(super) cursor: RefCell<Option<JournalCursor>>,
    /// How many `parallel()` calls this run is inside of.
    pub(super) branch_depth: usize,
    /// The names passed to [`Context::forbid_recursion`] that are running, outermost first.
    running: RefCell<Vec<String>>,
    /// The tools of search indexes whose handlers are running, outermost first.
    used: RefCell<Vec<Arc<str>>>,
    /// At a prompt, built-ins of the top level and of handlers are both allowed.
    at_prompt: bool,
    /// The hint of the error for an effect at the top level.
    top_level_hint: &'static str,
}

impl Context {
    /// The context of a script's top level.
    pub fn top(world: Arc<dyn Any + Send + Sync>, limits: &Limits) -> Self {
        Context {
            world,
            host: None,
            log: RefCell::default(),
            meter: Meter::new(limits),
            cursor: RefCell::default(),
            branch_depth: 0,
            running: RefCell::default(),
            used: RefCell::default(),
            at_prompt: false,
            top_level_hint: "do it inside a function that handles calls",
        }
    }

    /// Sets the hint of the error for an effect at the top level: where effects belong in this kind of file.
    pub fn with_top_level_hint(mut self, hint: &'static str) -> Self {
        self.top_level_hint = hint;
        self
    }

    /// The context of a handler.
    pub(crate) fn handler(world: Arc<dyn Any + Send + Sync>, host: Arc<Host>, limits: &Limits) -> Self {
        let cursor = RefCell::new(host.questions.cursor());
        Context { host: Some(host), cursor, ..Context::top(world, limits) }
    }

    /// The context of one of several functions that run concurrently.
    pub(super) fn branch(&self, cursor: Option<JournalCursor>) -> Self {
        Context {
            world: Arc::clone(&self.world),
            host: self.host.clone(),
            log: RefCell::default(),
            meter: self.meter.branch(),
            cursor: RefCell::new(cursor),
            branch_depth: self.branch_depth + 1,
            running: self.running.clone(),
            used: self.used.clone(),
            at_prompt: false,
            top_level_hint: self.top_level_hint,
        }
    }

    /// The context of a section of this run that has another host and a deadline of its own.
    pub(super) fn timed(&self, host: Option<Arc<Host>>, meter: Meter) -> Self {
        let cursor = self.cursor.borrow().clone();
        let (branch_depth, at_prompt) = (self.branch_depth, self.at_prompt);
        Context { host, meter, branch_depth, at_prompt, ..self.branch(cursor) }
    }

    /// The context of a line that a person enters at a prompt.
    pub fn prompt(world: Arc<dyn Any + Send + Sync>, host: Arc<Host>, limits: &Limits) -> Self {
        Context { at_prompt: true, ..Context::handler(world, host, limits) }
    }

    /// The context of the run that an evaluator belongs to.
    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Context> {
        let missing = || script_error("this function works in scripts of the proxy only");
        evaluator.extra.and_then(|extra| extra.downcast_ref::<Context>()).ok_or_else(missing)
    }

    /// The host, for an effect that only a handler may have.
    pub fn host_for(&self, effect: &str) -> Result<&Arc<Host>, ScriptError> {
        self.host.as_ref().ok_or_else(|| {
            ScriptError::new(format!("{effect} is possible only while a call is handled, not at the top level"))
                .hint(self.top_level_hint)
        })
    }

    /// The host, for the built-in `kind`. At the top level this is an error.
    pub(super) fn require_host(&self, kind: &'static str) -> Result<&Host, ScriptError> {
        match &self.host {
            Some(host) => Ok(host),
            None => self.host_for(&format!("`{kind}()`")).map(AsRef::as_ref),
        }
    }

    /// Whether this run is a top level, which decides what is published.
    pub fn is_top_level(&self) -> bool {
        self.host.is_none() || self.at_prompt
    }

    /// An error unless this run is a top level.
    pub fn require_top_level(&self, what: &str) -> Result<(), ScriptError> {
        if self.is_top_level() {
            return Ok(());
        }
        Err(ScriptError::new(format!("{what} works only at the top level of the session script, not in a handler"))
            .hint("the published tools are decided once, when the script runs; move the call out of the handler"))
    }

    /// Runs something that must not call itself, directly or indirectly. If it does, the whole run ends with the error
    /// `recursion`.
    pub fn forbid_recursion<T>(
        &self,
        name: &str,
        recursion: impl FnOnce() -> ScriptError,
        run: impl FnOnce() -> starlark::Result<T>,
    ) -> starlark::Result<T> {
        if self.running.borrow().iter().any(|running| running == name) {
            self.meter.stop(StopReason::Recursion);
            return Err(recursion().into());
        }
        self.running.borrow_mut().push(name.to_owned());
        let outcome = run();
        self.running.borrow_mut().pop();
        outcome
    }

    /// Runs the handler of a tool that the script calls by its name for the caller. What it calls is called via that tool.
    pub fn used_as<T>(&self, tool: &str, run: impl FnOnce() -> starlark::Result<T>) -> starlark::Result<T> {
        self.used.borrow_mut().push(tool.into());
        let outcome = run();
        self.used.borrow_mut().pop();
        outcome
    }

    /// The tool via which calls are made; None if it is the published item that the client uses.
    pub fn via(&self) -> Option<Arc<str>> {
        self.used.borrow().last().cloned()
    }

    /// The shared state of the built-ins, if it is of this type.
    pub fn world<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.world.downcast_ref()
    }

    pub fn log(&self, level: LogLevel, message: &str, fields: Map<String, serde_json::Value>) -> starlark::Result<()> {
        if self.host.is_some() {
            return self.fire("log", |host| host.output.log(level, message, &fields));
        }
        self.log.borrow_mut().push(LogLine { level, message: message.to_owned(), fields });
        Ok(())
    }

    pub fn print(&self, text: &str) -> starlark::Result<()> {
        if self.host.is_some() {
            return self.fire("print", |host| host.output.print(text));
        }
        self.log(LogLevel::Info, text, Map::new())
    }

    /// Blocks on something outside of the script. The time does not count as computing time of the script. A stop ends
    /// the run, and the script cannot catch it.
    pub fn wait<T>(&self, wait: impl FnOnce() -> Result<T, Stop>) -> starlark::Result<T> {
        self.meter.waiting(wait).map_err(|stop| {
            self.meter.stop(StopReason::Stopped(stop));
            script_error(stop.as_str())
        })
    }

    /// Lets other fibers run, and ends the run if it must stop. A built-in that may compute for long calls this in between.
    pub fn checkpoint(&self) -> starlark::Result<()> {
        if self.meter.must_stop_here(self.host.as_deref()) {
            return Err(script_error("the run has ended"));
        }
        Ok(())
    }

    /// Lets other fibers run at the end of a time slice.
    pub fn pause(&self) {
        self.meter.yield_if_over_slice();
    }

    /// Ends the run if its memory has no room for this many bytes more.
    #[inline]
    pub(super) fn require_memory(&self, bytes: usize) -> starlark::Result<()> {
        if self.meter.has_room_for(bytes) {
            return Ok(());
        }
        self.meter.stop(StopReason::Memory);
        Err(script_error("the run's memory is used up"))
    }

    pub(super) fn memory_limit(&self) -> usize {
        self.meter.limits().memory
    }

    pub(super) fn must_stop(&self, memory: usize) -> bool {
        self.meter.must_stop(self.host.as_deref(), memory)
    }

    /// Why the run was stopped, if it was.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        self.meter.stop_reason()
    }
}
