//! What built-ins find of the run they are in: the evaluator carries it as its `extra`.
#![expect(unsafe_code, reason = "the derive for the evaluator's `extra` writes an unsafe impl")]

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use serde_json::Map;
use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::meter::{Meter, Why};
use super::{Complaint, Host, Limits, LogLevel, Stop};
use crate::json::Raw;

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
    /// A line at a prompt may do what the top level may, and what handlers may.
    at_prompt: bool,
}

impl Context {
    pub fn top(world: Arc<dyn Any + Send + Sync>, limits: &Limits) -> Self {
        Context { world, host: None, log: RefCell::default(), meter: Meter::new(limits), at_prompt: false }
    }

    pub(super) fn handler(world: Arc<dyn Any + Send + Sync>, host: Arc<dyn Host>, limits: &Limits) -> Self {
        Context { world, host: Some(host), log: RefCell::default(), meter: Meter::new(limits), at_prompt: false }
    }

    /// For a line that a person tries.
    pub fn prompt(world: Arc<dyn Any + Send + Sync>, host: Arc<dyn Host>, limits: &Limits) -> Self {
        Context { at_prompt: true, ..Context::handler(world, host, limits) }
    }

    pub fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Context> {
        let missing = || super::complain("this function works in scripts of the proxy only");
        evaluator.extra.and_then(|extra| extra.downcast_ref::<Context>()).ok_or_else(missing)
    }

    /// The host, for an effect that only a handler may have.
    pub fn host_for(&self, effect: &str) -> Result<&Arc<dyn Host>, Complaint> {
        self.host.as_ref().ok_or_else(|| {
            Complaint::new(format!("{effect} is possible only while a call is handled, not at the top level"))
                .hint("do it inside a handler: `def handler(args): ...`, then `publish(meta, handler)`")
        })
    }

    /// Refuses what only the top level may do.
    pub fn require_top(&self, what: &str) -> Result<(), Complaint> {
        if self.host.is_none() || self.at_prompt {
            return Ok(());
        }
        Err(Complaint::new(format!("{what} works only at the top level of the session script, not in a handler"))
            .hint("what tools exist is decided once, when the script runs; move the call out of the handler"))
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

    /// Does something to the world, with a result. `request` is what is done, in as many parts as is convenient: the same
    /// program does the same at the same place. `Ok(Err(text))` is an error that the script can catch.
    ///
    /// At the top level of a script it is an error; `kind` is the name of the built-in.
    pub fn effect(
        &self,
        kind: &'static str,
        _request: &[&str],
        perform: impl FnOnce(&dyn Host) -> Result<Result<Raw, String>, Stop>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.acting(kind)?;
        self.wait(|| perform(host))?.map(Arc::new).map_err(super::complain)
    }

    /// The same without a result: said, and not waited for.
    pub fn tell(&self, kind: &'static str, perform: impl FnOnce(&dyn Host)) -> starlark::Result<()> {
        perform(self.acting(kind)?);
        Ok(())
    }

    fn acting(&self, kind: &'static str) -> Result<&dyn Host, Complaint> {
        match &self.host {
            Some(host) => Ok(host.as_ref()),
            None => self.host_for(&format!("`{kind}()`")).map(AsRef::as_ref),
        }
    }

    /// Waits for somebody else: the time is not the script's own, and a stop ends the run whatever the script does.
    pub fn wait<T>(&self, wait: impl FnOnce() -> Result<T, Stop>) -> starlark::Result<T> {
        self.meter.waiting(wait).map_err(|stop| {
            self.meter.stop(Why::Stopped(stop));
            super::complain(stop.as_str())
        })
    }

    pub(super) fn must_stop(&self, memory: usize) -> bool {
        self.meter.must_stop(self.host.as_ref(), memory)
    }

    /// Calls a function of the script from a built-in.
    pub fn invoke<'v>(
        &self,
        evaluator: &mut Evaluator<'v, '_, '_>,
        function: Value<'v>,
        positional: &[Value<'v>],
        named: &[(&str, Value<'v>)],
    ) -> starlark::Result<Value<'v>> {
        self.meter.do_not_count_next_check();
        evaluator.eval_function(function, positional, named)
    }

    /// Why the run was stopped, if it was.
    pub fn why(&self) -> Option<Why> {
        self.meter.why()
    }
}
