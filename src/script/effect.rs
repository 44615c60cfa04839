//! Everything that a handler does to the world passes here: done once, written down, and told again when the handler
//! runs again after a question.

use std::sync::Arc;

use starlark::eval::Evaluator;
use starlark::values::Value;

use super::journal::{JournalCursor, Question, Step};
use super::meter::StopReason;
use super::{Context, Host, ScriptError, Stop, script_error};
use crate::fiber;
use crate::json::Raw;

impl Context {
    /// Does something to the world, with a result. `request` is what is done, in as many parts as is convenient: the same
    /// program does the same at the same place. `Ok(Err(text))` is an error that the script can catch.
    ///
    /// At the top level of a script it is an error; `kind` is the name of the built-in.
    pub fn effect(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(&dyn Host) -> Result<Result<Raw, String>, Stop>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.acting(kind)?;
        let Some(line) = self.line() else {
            return self.wait(|| perform(host))?.map(Arc::new).map_err(script_error);
        };
        match self.step(&line, kind, request)? {
            Step::Known(outcome) => outcome.map(|kept| kept.0).map_err(script_error),
            _ => {
                let outcome = self.wait(|| perform(host))?.map(Arc::new);
                line.done(kind, request, outcome.as_ref().map_err(String::as_str));
                outcome.map_err(script_error)
            }
        }
    }

    /// The same without a result: said once, and not waited for.
    pub fn tell(&self, kind: &'static str, perform: impl FnOnce(&dyn Host)) -> starlark::Result<()> {
        let host = self.acting(kind)?;
        if let Some(line) = self.line() {
            if let Step::Fired = self.step(&line, kind, &[])? {
                return Ok(());
            }
            line.told(kind);
        }
        perform(host);
        Ok(())
    }

    /// The same for a call that may do things itself, on a line of its own. When it has ended, what came of it takes
    /// their place.
    pub fn nested(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(&dyn Host, Option<JournalCursor>) -> Result<Result<Raw, String>, Stop>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.acting(kind)?;
        self.within(kind, request, |line| self.wait(|| perform(host, line)))
    }

    /// The same for a call of one of the script's own functions.
    pub fn nested_function<'v>(
        &self,
        kind: &'static str,
        request: &[&str],
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<Raw>,
    ) -> starlark::Result<Arc<Raw>> {
        self.acting(kind)?;
        self.within(kind, request, |line| {
            let before = self.line.replace(line);
            let outcome = run(evaluator);
            self.line.replace(before);
            outcome.map(Ok)
        })
    }

    fn within(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(Option<JournalCursor>) -> starlark::Result<Result<Raw, String>>,
    ) -> starlark::Result<Arc<Raw>> {
        let Some(line) = self.line() else { return perform(None)?.map(Arc::new).map_err(script_error) };
        let (at, mut inside) = match self.step(&line, kind, request)? {
            Step::Known(outcome) => return outcome.map(|kept| kept.0).map_err(script_error),
            Step::Begun { at, lines } => (at, lines),
            _ => line.begin(kind, request, 1),
        };
        let inside = inside.pop();
        let outcome = perform(inside.clone())?.map(Arc::new);
        if inside.is_some_and(|inside| !inside.is_replayed()) {
            return Err(self.diverged(kind, "less"));
        }
        line.end(at, kind, request, outcome.as_ref().map_err(String::as_str));
        outcome.map_err(script_error)
    }

    /// Lines of control that go on beside each other, for functions that are run so.
    pub(super) fn branches(&self, kind: &'static str, count: usize) -> starlark::Result<Vec<Option<JournalCursor>>> {
        self.acting(kind)?;
        let Some(line) = self.line() else { return Ok(vec![None; count]) };
        let request = count.to_string();
        let lines = match self.step(&line, kind, &[&request])? {
            Step::Begun { lines, .. } => lines,
            _ => line.begin(kind, &[&request], count).1,
        };
        Ok(lines.into_iter().map(Some).collect())
    }

    /// Asks a person. Where nobody can be asked `unavailable` is the answer; otherwise the run ends here, and comes back
    /// to this place with the answer.
    pub fn ask(
        &self,
        kind: &'static str,
        question: Question,
        unavailable: impl FnOnce() -> Result<Raw, String>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.acting(kind)?;
        let line = self.line().filter(|_| host.can_ask(&question));
        let request = [question.message.clone(), question.schema.get().to_owned()];
        let request = [request[0].as_str(), request[1].as_str()];
        let Some(line) = line else { return self.effect(kind, &request, |_| Ok(unavailable())) };
        if let Step::Known(outcome) = self.step(&line, kind, &request)? {
            return outcome.map(|kept| kept.0).map_err(script_error);
        }
        if !line.asked(kind, &request, question) {
            self.meter.stop(StopReason::Journal);
            return Err(script_error("there is no room to remember this call"));
        }
        self.meter.stop(StopReason::Stopped(Stop::Input));
        Err(script_error(Stop::Input.as_str()))
    }

    pub(super) fn acting(&self, kind: &'static str) -> Result<&dyn Host, ScriptError> {
        match &self.host {
            Some(host) => Ok(host.as_ref()),
            None => self.host_for(&format!("`{kind}()`")).map(AsRef::as_ref),
        }
    }

    fn line(&self) -> Option<JournalCursor> {
        self.line.borrow().clone()
    }

    /// Comes to the next place of a line. What is new there waits until all other lines have come to what they did
    /// before.
    fn step(&self, line: &JournalCursor, kind: &'static str, request: &[&str]) -> starlark::Result<Step> {
        if let Some(why) = self.meter.ended() {
            return Err(script_error(format!("the call has ended: {why:?}")));
        }
        loop {
            match line.step(kind, request) {
                Step::TooEarly if fiber::wait_for_others() => {}
                Step::TooEarly => return Err(self.diverged(kind, "other things")),
                Step::Different { before } => return Err(self.diverged(kind, &format!("`{before}`"))),
                step => return Ok(step),
            }
        }
    }

    /// The handler took another way than the first time: it is stopped for good, because nobody can know what it would
    /// do twice.
    pub(super) fn diverged(&self, kind: &str, before: &str) -> starlark::Error {
        self.meter.stop(StopReason::Diverged);
        script_error(format!("`{kind}` comes where {before} was done before"))
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
}
