//! Judges one call by the flow rules.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Map;

use super::caller::FlowCaller;
use super::item::{FlowItem, carries_words, participle};
use crate::surface::PublishedItem;
use proxy_base::foreign_text::visible;
use proxy_config::FlowRule;
use proxy_json::{Object, RawRef, raw};
use proxy_mcp_client::CallError;
use proxy_model::flow::{EGRESS, FlowAction, FlowDecision, Labels, Reading};
use proxy_model::{Question, QuestionKind, checked_form};
use proxy_wire::completion;

/// The number of characters of arguments that a question shows.
const SHOWN: usize = 2000;

/// The rules for one call of a labelled item.
#[derive(Clone)]
pub(in crate::calls) struct FlowGuard {
    pub(super) caller: FlowCaller,
    pub(super) labels: Labels,
    /// The name under which the conversation knows the item.
    pub(super) name: String,
    /// The server that words are sent to; `None` for an item that the script has made.
    server: Option<Arc<str>>,
    method: Cow<'static, str>,
    /// Whether a handler makes the call.
    is_inner: bool,
    /// The labels of what the call has told before, if it continues.
    pub(super) told: Labels,
}

/// What the rules say.
pub(in crate::calls) enum Verdict {
    Passes,
    /// A person has to agree.
    Asks(Consent),
}

/// A call that a person has to agree to.
pub(in crate::calls) struct Consent {
    rule: FlowRule,
    reading: Reading,
}

impl FlowGuard {
    /// The guard of a request to a server. `None` if the item has no labels, and no rule is about what its server may ask the
    /// client's model during the call.
    pub(in crate::calls) fn of(
        caller: FlowCaller,
        item: &FlowItem,
        method: Cow<'static, str>,
        is_inner: bool,
    ) -> Option<Self> {
        let labels = item.labels(&caller.surface, &caller.flow);
        let guards_sampling = || caller.flow.rules.iter().any(|rule| *rule.then == *EGRESS);
        if labels.is_empty() && !guards_sampling() {
            return None;
        }
        let name = item.name(&caller.surface);
        let server = Some(Arc::clone(item.server()));
        Some(FlowGuard { caller, labels, name, server, method, is_inner, told: Labels::default() })
    }

    /// The guard of the use of an item whose calls a function of the script handles. `None` if it has no labels of its own.
    pub(in crate::calls) fn at_use(caller: FlowCaller, entry: &PublishedItem, key: &str) -> Option<Self> {
        let labels = entry.labels_at_use(&caller.flow, key);
        Self::of_script(caller, key, entry.kind.use_method(), labels, false)
    }

    /// The same for a completion by a function of the script.
    pub(in crate::calls) fn completing(caller: FlowCaller, entry: &PublishedItem, key: &str) -> Option<Self> {
        let labels = caller.surface.labels_of_completion(&caller.flow, entry, key);
        Self::of_script(caller, key, completion::METHOD, labels, false)
    }

    /// The same for a tool that the script calls for the client.
    pub(in crate::calls) fn of_made(caller: FlowCaller, name: &str, labels: Labels) -> Option<Self> {
        Self::of_script(caller, name, "tools/call", labels, true)
    }

    fn of_script(caller: FlowCaller, name: &str, method: &'static str, labels: Labels, is_inner: bool) -> Option<Self> {
        if labels.is_empty() {
            return None;
        }
        let name = name.to_owned();
        let method = method.into();
        Some(FlowGuard { caller, labels, name, server: None, method, is_inner, told: Labels::default() })
    }

    /// The guard of a question that a server asks while no call runs: the answer may be to anything that it offers.
    pub(super) fn between_calls(caller: FlowCaller, server: &Arc<str>, method: &str) -> Self {
        let labels = caller.surface.labels_of_server(&caller.flow, server).with(&egress());
        FlowGuard {
            caller,
            labels,
            name: method.to_owned(),
            server: Some(Arc::clone(server)),
            method: method.to_owned().into(),
            is_inner: false,
            told: Labels::default(),
        }
    }

    /// The guard of a call that continues, and has told this before.
    pub(in crate::calls) fn continuing(self, told: Labels) -> Self {
        FlowGuard { told, ..self }
    }

    /// Whether a rule may ask a person about the call.
    pub(in crate::calls) fn may_ask(&self) -> bool {
        let rules = self.caller.flow.rules.iter();
        rules.into_iter().any(|rule| rule.action == FlowAction::Ask && self.labels.contains(&rule.then))
    }

    /// Judges the call.
    ///
    /// # Errors
    /// If a rule denies the call, or the store does not tell what the conversation has read.
    pub(in crate::calls) async fn verdict(&self) -> Result<Verdict, CallError> {
        let reading = self.reading().await?;
        if carries_words(&self.method) { self.judge_call(reading, &self.told) } else { Ok(Verdict::Passes) }
    }

    /// Judges the call. What it has told itself does not stop it.
    pub(super) fn judge_call(&self, reading: Reading, told: &Labels) -> Result<Verdict, CallError> {
        let before = match reading {
            Reading::Marked(mut marks) => {
                marks.0.retain(|label, _| !told.contains(label));
                Reading::Marked(marks)
            }
            unknown => unknown,
        };
        self.judge(&before, &self.labels)
    }

    pub(super) async fn reading(&self) -> Result<Reading, CallError> {
        self.caller.reading().await.map_err(|error| {
            let why = format!("what this conversation has read cannot be looked up: {error}");
            self.stopped(&why, None)
        })
    }

    /// Judges a call of something with these labels.
    pub(super) fn judge(&self, reading: &Reading, labels: &Labels) -> Result<Verdict, CallError> {
        let applies =
            |rule: &&FlowRule| labels.contains(&rule.then) && rule.when.iter().all(|label| reading.has(label));
        // Of several rules the strictest counts; of equal ones the first.
        let rules = self.caller.flow.rules.iter().filter(applies);
        let strictest = rules.reduce(|one, other| if other.action > one.action { other } else { one });
        let Some(rule) = strictest else { return Ok(Verdict::Passes) };
        match rule.action {
            FlowAction::Log => {
                tracing::warn!(
                    item = self.name,
                    then = &*rule.then,
                    "a flow rule applies ({}): {}",
                    rule.place.short(),
                    reading.told(&rule.when)
                );
                self.note(rule, None);
                Ok(Verdict::Passes)
            }
            FlowAction::Ask => Ok(Verdict::Asks(Consent { rule: rule.clone(), reading: reading.clone() })),
            FlowAction::Deny => Err(self.denied(rule, reading)),
        }
    }

    /// The error for a call that nobody could be asked about.
    pub(in crate::calls) fn not_asked(&self, consent: &Consent) -> CallError {
        self.denied(&consent.rule, &consent.reading)
    }

    /// The error for a call that the person did not agree to.
    pub(in crate::calls) fn declined(&self) -> CallError {
        self.stopped("the user did not agree to it", None)
    }

    fn denied(&self, rule: &FlowRule, reading: &Reading) -> CallError {
        self.note(rule, None);
        self.stopped(&reading.told(&rule.when), Some(rule.place.short()))
    }

    /// Stores that the conversation has read the item.
    ///
    /// # Errors
    /// If it cannot be stored. Nothing of the item may be passed on then.
    pub(in crate::calls) async fn mark(&self) -> Result<(), CallError> {
        self.caller.mark(&self.labels, &self.name).await.map_err(|error| {
            let message = format!(
                "the answer of `{}` is withheld: that this conversation has read it cannot be stored: {error}",
                self.name
            );
            tracing::warn!(item = self.name, "{message}");
            self.caller.note_refusal(&message, None, self.is_inner);
            CallError::Stopped(message)
        })
    }

    /// The error of a call that is stopped.
    pub(super) fn stopped(&self, why: &str, at: Option<String>) -> CallError {
        let message = format!("`{}` was not {}: {why}", self.name, participle(&self.method));
        tracing::info!(item = self.name, "{message}");
        self.caller.note_refusal(&message, at, self.is_inner);
        CallError::Stopped(message)
    }

    /// Records that a rule applied, and whether the person agreed.
    fn note(&self, rule: &FlowRule, agreed: Option<bool>) {
        self.caller.note(FlowDecision {
            action: rule.action,
            marks: rule.when.iter().cloned().collect(),
            then: Arc::clone(&rule.then),
            item: self.name.clone(),
            agreed,
        });
    }

    /// Records the answer of the person.
    pub(super) fn note_consent(&self, consent: &Consent, agreed: bool) {
        self.note(&consent.rule, Some(agreed));
    }

    /// Records the answer of the person, as far as the rules can still be told.
    pub(in crate::calls) async fn note_answer(&self, agreed: bool) {
        let Ok(reading) = self.caller.reading().await else { return };
        if let Ok(Verdict::Asks(consent)) = self.judge(&reading, &self.labels) {
            self.note(&consent.rule, Some(agreed));
        }
    }

    /// The question to the person: what was read, and what is about to be sent where.
    pub(in crate::calls) fn question(&self, consent: &Consent, params: &RawRef) -> Question {
        let told = consent.reading.told(&consent.rule.when);
        let place = self.server.as_ref().map(|server| format!(" of the server `{server}`")).unwrap_or_default();
        let sent = sent(params);
        let with = if sent.is_empty() { String::new() } else { format!(" with {sent}") };
        let mut first = told.chars();
        let told =
            first.next().map(|letter| letter.to_uppercase().chain(first).collect::<String>()).unwrap_or_default();
        let message = format!(
            "{told}. May `{}`{place} be {} now{with}? This may send what was read to others.",
            self.name,
            participle(&self.method)
        );
        let schema = raw(&checked_form(Map::new()).unwrap_or_default());
        Question { message: visible(&message).into_owned(), schema, reminders: 0, kind: QuestionKind::Form }
    }
}

/// The arguments or the URI of a request, shortened.
fn sent(params: &RawRef) -> String {
    let Ok(params) = Object::of(params) else { return String::new() };
    let sent = ["arguments", "uri", "argument", "inputResponses"].into_iter().find_map(|member| params.get(member));
    let text = sent.map(|sent| sent.get()).unwrap_or_default();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Whether the answer to a question agrees.
pub(in crate::calls) fn is_accepted(answer: &RawRef) -> bool {
    Object::of(answer).ok().and_then(|answer| answer.string("action")).as_deref() == Some("accept")
}

/// The labels of a request to the client's model.
pub(super) fn egress() -> Labels {
    [Arc::from(EGRESS)].into_iter().collect()
}
