//! Flow rules in handlers: for the calls that they make, for the items that the script has made, and for what they read and
//! store.

use std::sync::Arc;

use super::host::RequestHost;
use crate::calls::flow::{FlowCaller, FlowGuard, FlowItem, Passage, QUESTION, Verdict, is_accepted};
use crate::surface::Surface;
use proxy_json::{Raw, RawRef, object};
use proxy_mcp_client::CallError;
use proxy_model::flow::{Labels, Reading};
use proxy_model::{ItemRef, JournalSnapshot};
use proxy_script::{FlowControl, JournalCursor, KnownAnswer, Questions, Stop};

impl RequestHost {
    /// Whose marks count. `None` if no labels are tracked.
    pub(in crate::calls) fn flow_caller(&self) -> Option<FlowCaller> {
        let request = &self.request;
        let recording = self.recording.as_ref();
        FlowCaller::of(self.surface.as_ref(), &request.principal, request.owner.as_ref(), &self.store, recording)
    }

    /// What a call of a server's item needs to be dispatched. `None` if the item has no labels.
    pub(super) fn passage(
        &self,
        target: &ItemRef,
        params: &RawRef,
        is_inner: bool,
        cursor: Option<&JournalCursor>,
    ) -> Result<Option<Passage>, CallError> {
        let Some(caller) = self.flow_caller() else { return Ok(None) };
        let guard = FlowGuard::of(caller, &FlowItem::of(target, params), target.kind.use_method().into(), is_inner);
        let Some(guard) = guard else { return Ok(None) };
        let is_agreed = self.agreed.get() == Some(target);
        // Without such a rule, the dispatcher alone decides.
        let is_covered = is_agreed || (guard.may_ask() && self.admit(&guard, params, cursor)? != Consented::Unasked);
        Ok(Some(Passage::new(guard, is_covered)))
    }

    /// Asks the rules, and the person if they say so.
    ///
    /// # Errors
    /// If the call is stopped, or the handler has to run again with the answer.
    pub(in crate::calls) fn admit(
        &self,
        guard: &FlowGuard,
        params: &RawRef,
        cursor: Option<&JournalCursor>,
    ) -> Result<Consented, CallError> {
        if !guard.may_ask() {
            return self.verdict(guard).map(|_| Consented::Unasked);
        }
        match cursor.map_or(KnownAnswer::Nothing, |cursor| cursor.known_answer(QUESTION)) {
            KnownAnswer::Nothing => {}
            KnownAnswer::Passed => return Ok(Consented::Earlier),
            KnownAnswer::Open => return Err(CallError::Asks(JournalSnapshot::default())),
            KnownAnswer::Answered(answer) => {
                let is_agreed = answer.is_ok_and(|answer| is_accepted(&answer.0));
                proxy_fiber::wait(guard.note_answer(is_agreed), &self.runtime);
                return if is_agreed { Ok(Consented::Agreed) } else { Err(guard.declined()) };
            }
        }
        let Verdict::Asks(consent) = self.verdict(guard)? else { return Ok(Consented::Unasked) };
        let question = guard.question(&consent, params);
        match cursor {
            Some(cursor) if self.can_ask(&question) && cursor.ask(QUESTION, question) => {
                Err(CallError::Asks(JournalSnapshot::default()))
            }
            _ => Err(guard.not_asked(&consent)),
        }
    }

    fn verdict(&self, guard: &FlowGuard) -> Result<Verdict, CallError> {
        proxy_fiber::wait(guard.verdict(), &self.runtime)
    }

    /// Stores that the conversation has read the item of a guard.
    pub(in crate::calls) fn mark_read(&self, guard: &FlowGuard) -> Result<(), CallError> {
        proxy_fiber::wait(guard.mark(), &self.runtime)
    }

    /// From now on the handler speaks for this item, too.
    pub(in crate::calls) fn speaks_for(&self, guard: FlowGuard) {
        self.unmarked.lock().push(guard);
    }

    /// Stores the marks of the items that the handler speaks for, before it says something. Returns whether it may.
    pub(super) fn may_speak(&self) -> bool {
        if self.surface.as_ref().is_none_or(|surface| surface.flow().is_none()) {
            return true;
        }
        let guards = std::mem::take(&mut *self.unmarked.lock());
        let failed: Vec<FlowGuard> = guards.into_iter().filter(|guard| self.mark_read(guard).is_err()).collect();
        let may_speak = failed.is_empty();
        self.unmarked.lock().extend(failed);
        may_speak
    }
}

/// How a call got past the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum Consented {
    /// No rule asks now.
    Unasked,
    /// No rule asked when an earlier run of the handler got here.
    Earlier,
    /// The person has agreed.
    Agreed,
}

/// The marks of the conversation of one request, for built-ins.
pub(super) struct HostFlow {
    host: Arc<RequestHost>,
    caller: FlowCaller,
}

impl HostFlow {
    pub(super) fn new(host: Arc<RequestHost>, caller: FlowCaller) -> Self {
        HostFlow { host, caller }
    }

    fn wait<T>(&self, operation: impl Future<Output = Result<T, String>>) -> Result<Result<T, String>, Stop> {
        if self.host.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        Ok(proxy_fiber::wait(operation, &self.host.runtime))
    }
}

impl FlowControl for HostFlow {
    fn reading(&self) -> Result<Result<Reading, String>, Stop> {
        self.wait(self.caller.reading())
    }

    fn mark(&self, labels: &Labels, source: &str) -> Result<Result<(), String>, Stop> {
        self.wait(self.caller.mark(labels, source))
    }

    fn labels_of_made(&self, name: &str, by_script: Option<&Labels>) -> Labels {
        Surface::labels_of_made(self.caller.flow(), &[name], by_script)
    }

    fn admit(
        &self,
        name: &str,
        labels: &Labels,
        arguments: &RawRef,
        cursor: Option<JournalCursor>,
    ) -> Result<Result<(), String>, Stop> {
        let Some(guard) = FlowGuard::of_made(self.caller.clone(), name, labels.clone()) else { return Ok(Ok(())) };
        let params: Raw = object([("arguments", arguments)]);
        match self.host.admit(&guard, &params, cursor.as_ref()) {
            Ok(_) => {
                self.host.speaks_for(guard);
                Ok(Ok(()))
            }
            Err(CallError::Asks(_)) => Err(Stop::Input),
            Err(stopped) => Ok(Err(stopped.to_string())),
        }
    }
}
