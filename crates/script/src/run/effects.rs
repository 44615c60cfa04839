//! The effects of handlers. Every effect passes here: it is performed once, recorded in the journal, and replayed from
//! there when the handler runs again after a question.

use std::sync::Arc;

use starlark::eval::Evaluator;
use starlark::values::Value;

use super::context::Context;
use super::meter::StopReason;
use crate::journal::{JournalCursor, Step};
use crate::{Host, Stop, script_error};
use proxy_fiber as fiber;
use proxy_json::Raw;
use proxy_model::Question;

impl Context {
    /// Performs an effect that has a result. `kind` is the name of the built-in. `request` is what the effect is asked to
    /// do, in any number of parts; a replay checks that it is the same. `Ok(Err(text))` from `perform` is an error that the
    /// script can catch.
    ///
    /// # Errors
    /// At the top level of a script, and whatever `perform` returns.
    pub fn effect(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(&Host) -> Result<Result<Raw, String>, Stop>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.require_host(kind)?;
        let Some(cursor) = self.cursor() else {
            return self.wait(|| perform(host))?.map(|result| self.taken_over(result)).map_err(script_error);
        };
        match self.step(&cursor, kind, request)? {
            Step::Done(outcome) => outcome.map(|result| result.0).map_err(script_error),
            _ => {
                let outcome = self.wait(|| perform(host))?.map(Arc::new);
                cursor.record_done(kind, request, outcome.as_ref().map_err(String::as_str));
                outcome.map_err(script_error)
            }
        }
    }

    /// Performs an effect that has no result and is not waited for, such as a line of the log.
    pub fn fire(&self, kind: &'static str, perform: impl FnOnce(&Host)) -> starlark::Result<()> {
        let host = self.require_host(kind)?;
        if let Some(cursor) = self.cursor() {
            if let Step::Fired = self.step(&cursor, kind, &[])? {
                return Ok(());
            }
            cursor.record_fired(kind);
        }
        self.meter.outside(|| perform(host));
        Ok(())
    }

    /// Performs a call that may have effects of its own, which are recorded at the cursor that `perform` receives. Once the
    /// call has ended, its result replaces their records.
    pub fn nested(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(&Host, Option<JournalCursor>) -> Result<Result<Raw, String>, Stop>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.require_host(kind)?;
        match self.cursor() {
            Some(_) => self.recorded_call(kind, request, |cursor| self.wait(|| perform(host, cursor))),
            None => self.wait(|| perform(host, None))?.map(|result| self.taken_over(result)).map_err(script_error),
        }
    }

    /// A result that was allocated elsewhere and is not recorded, so this run frees it.
    pub fn taken_over(&self, result: Raw) -> Arc<Raw> {
        if Arc::strong_count(&result) == 1 {
            self.meter.take_over(result.get().len());
        }
        Arc::new(result)
    }

    /// Calls one of the script's own functions. Its effects are recorded separately until it has ended; then its result
    /// replaces their records.
    pub fn nested_function<'v>(
        &self,
        kind: &'static str,
        request: &[&str],
        evaluator: &mut Evaluator<'v, '_, '_>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<Raw>,
    ) -> starlark::Result<Arc<Raw>> {
        self.require_host(kind)?;
        self.recorded_call(kind, request, |cursor| {
            let outer = self.cursor.replace(cursor);
            let outcome = run(evaluator);
            self.cursor.replace(outer);
            outcome.map(Ok)
        })
    }

    fn recorded_call(
        &self,
        kind: &'static str,
        request: &[&str],
        perform: impl FnOnce(Option<JournalCursor>) -> starlark::Result<Result<Raw, String>>,
    ) -> starlark::Result<Arc<Raw>> {
        let Some(cursor) = self.cursor() else { return perform(None)?.map(Arc::new).map_err(script_error) };
        let (index, mut inner) = match self.step(&cursor, kind, request)? {
            Step::Done(outcome) => return outcome.map(|result| result.0).map_err(script_error),
            Step::Unfinished { index, cursors } => (index, cursors),
            _ => cursor.begin(kind, request, 1),
        };
        let inner = inner.pop();
        let outcome = perform(inner.clone())?.map(Arc::new);
        if inner.is_some_and(|inner| !inner.is_replayed()) {
            return Err(self.diverged(kind, "less"));
        }
        cursor.finish(index, kind, request, outcome.as_ref().map_err(String::as_str));
        outcome.map_err(script_error)
    }

    /// A cursor for each of several functions that run concurrently.
    pub(super) fn branch_cursors(
        &self,
        kind: &'static str,
        count: usize,
    ) -> starlark::Result<Vec<Option<JournalCursor>>> {
        self.require_host(kind)?;
        let Some(cursor) = self.cursor() else { return Ok(vec![None; count]) };
        let request = count.to_string();
        let cursors = match self.step(&cursor, kind, &[&request])? {
            Step::Unfinished { cursors, .. } => cursors,
            _ => cursor.begin(kind, &[&request], count).1,
        };
        Ok(cursors.into_iter().map(Some).collect())
    }

    /// Asks the person behind the client. If the client cannot show the question, `unavailable` is the answer. Otherwise
    /// the run stops here; the next run finds the answer in the journal and continues.
    pub fn ask(
        &self,
        kind: &'static str,
        question: Question,
        unavailable: impl FnOnce() -> Result<Raw, String>,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.require_host(kind)?;
        let cursor = self.cursor().filter(|_| host.questions.can_ask(&question));
        let request = [question.message.clone(), question.detail().to_owned()];
        let request = [request[0].as_str(), request[1].as_str()];
        let Some(cursor) = cursor else { return self.effect(kind, &request, |_| Ok(unavailable())) };
        if let Step::Done(outcome) = self.step(&cursor, kind, &request)? {
            return outcome.map(|result| result.0).map_err(script_error);
        }
        Err(self.stop_for_answer(&cursor, kind, &request, question))
    }

    /// Asks the client something that has one answer for the whole call: whoever needs it later in this run gets the same
    /// answer. If the client cannot be asked, `unavailable` is the answer.
    pub fn ask_once(
        &self,
        kind: &'static str,
        question: Question,
        unavailable: impl FnOnce() -> Raw,
    ) -> starlark::Result<Arc<Raw>> {
        let host = self.require_host(kind)?;
        let cursor = self.cursor().filter(|_| host.questions.can_ask(&question));
        let Some(cursor) = cursor else { return self.effect(kind, &[], |_| Ok(Ok(unavailable()))) };
        if let Step::Done(outcome) = self.step(&cursor, kind, &[])? {
            let answer = outcome.map(|result| result.0).map_err(script_error)?;
            cursor.journal().remember_answer(kind, &answer);
            return Ok(answer);
        }
        if let Some(answer) = cursor.journal().remembered_answer(kind) {
            cursor.record_done(kind, &[], Ok(&answer));
            return Ok(answer);
        }
        Err(self.stop_for_answer(&cursor, kind, &[], question))
    }

    /// Records a question and stops the run. The next run finds the answer.
    fn stop_for_answer(
        &self,
        cursor: &JournalCursor,
        kind: &'static str,
        request: &[&str],
        question: Question,
    ) -> starlark::Error {
        if !cursor.record_question(kind, request, question) {
            self.meter.stop(StopReason::JournalFull);
            return script_error("the journal of this call is full");
        }
        self.meter.stop(StopReason::Stopped(Stop::Input));
        script_error(Stop::Input.as_str())
    }

    fn cursor(&self) -> Option<JournalCursor> {
        self.cursor.borrow().clone()
    }

    /// Looks the next effect up in the journal. A new effect waits until all other branches have replayed their records.
    fn step(&self, cursor: &JournalCursor, kind: &'static str, request: &[&str]) -> starlark::Result<Step> {
        if let Some(reason) = self.meter.ended() {
            return Err(script_error(format!("the call has ended: {reason:?}")));
        }
        loop {
            match cursor.step(kind, request) {
                Step::OthersReplaying if fiber::wait_for_siblings() => {}
                Step::OthersReplaying => return Err(self.diverged(kind, "other things")),
                Step::Diverged { recorded } => return Err(self.diverged(kind, &format!("`{recorded}`"))),
                step => return Ok(step),
            }
        }
    }

    /// Stops the run because it had other effects than the recorded run. It cannot be continued, because it is unknown
    /// which effects it would repeat.
    pub(super) fn diverged(&self, kind: &str, recorded: &str) -> starlark::Error {
        self.meter.stop(StopReason::Diverged);
        script_error(format!("`{kind}` comes where {recorded} was done before"))
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
