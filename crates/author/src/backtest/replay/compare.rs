//! Compares how a call ends now with how it ended when it was recorded.

use serde_json::Value;

use super::answers::LeftAnswers;
use crate::backtest::recording::CallLine;
use proxy_json::{RawRef, canonical};
use proxy_model::{CallOutcome, CallRefusal, HandledCall};

/// How the end of a call differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BacktestVerdict {
    Same,
    /// It succeeded, and now the script refuses it or it fails.
    Refused {
        /// The line of the script.
        at: Option<String>,
        why: String,
    },
    /// It was refused or failed, and now it is not.
    Allowed {
        why: String,
    },
    /// It needed no answer, and now the user is asked this.
    Asks {
        question: String,
    },
    /// The user was asked, and now is not.
    AsksNoLonger {
        why: String,
    },
    /// It has another result, or calls other servers.
    Changed {
        why: String,
    },
    /// It calls a server whose answer is not known.
    Calls {
        what: String,
    },
    /// It cannot be compared.
    Skipped {
        why: String,
    },
}

/// How a call ended in the backtest.
pub(super) struct CallNow {
    pub(super) handled: HandledCall,
    pub(super) refusal: Option<CallRefusal>,
    /// The first question without a recorded answer.
    pub(super) open_question: Option<String>,
    pub(super) asked: bool,
    /// Whether the recording has answers for the call.
    pub(super) has_answers: bool,
    pub(super) left: LeftAnswers,
}

impl BacktestVerdict {
    pub const WORDS: [&'static str; 7] =
        ["nowRefused", "nowAllowed", "nowAsks", "asksNoLonger", "changed", "wouldNowCall", "skipped"];

    pub fn word(&self) -> &'static str {
        match self {
            BacktestVerdict::Same => "same",
            BacktestVerdict::Refused { .. } => "nowRefused",
            BacktestVerdict::Allowed { .. } => "nowAllowed",
            BacktestVerdict::Asks { .. } => "nowAsks",
            BacktestVerdict::AsksNoLonger { .. } => "asksNoLonger",
            BacktestVerdict::Changed { .. } => "changed",
            BacktestVerdict::Calls { .. } => "wouldNowCall",
            BacktestVerdict::Skipped { .. } => "skipped",
        }
    }

    pub fn place(&self) -> Option<&str> {
        match self {
            BacktestVerdict::Refused { at, .. } => at.as_deref(),
            _ => None,
        }
    }

    /// In one sentence, for people.
    pub fn describe(&self) -> String {
        match self {
            BacktestVerdict::Same => "same".to_owned(),
            BacktestVerdict::Refused { at: Some(at), why } => format!("now refused ({at}: {why})"),
            BacktestVerdict::Refused { at: None, why } => format!("now refused ({why})"),
            BacktestVerdict::Allowed { why } => format!("now allowed ({why})"),
            BacktestVerdict::Asks { question } => format!("now asks {question:?}"),
            BacktestVerdict::AsksNoLonger { why } => format!("asks no longer ({why})"),
            BacktestVerdict::Changed { why } => format!("changed ({why})"),
            BacktestVerdict::Calls { what } => format!("would now call {what}"),
            BacktestVerdict::Skipped { why } => format!("skipped ({why})"),
        }
    }

    /// The reason, the question or the server's item.
    pub fn why(&self) -> &str {
        match self {
            BacktestVerdict::Same => "",
            BacktestVerdict::Refused { why, .. }
            | BacktestVerdict::Allowed { why }
            | BacktestVerdict::AsksNoLonger { why }
            | BacktestVerdict::Changed { why }
            | BacktestVerdict::Skipped { why } => why,
            BacktestVerdict::Asks { question } => question,
            BacktestVerdict::Calls { what } => what,
        }
    }
}

/// The verdict about a call that could be run.
pub(super) fn compare(before: &CallLine, now: &CallNow) -> BacktestVerdict {
    let was_asked = before.outcome == CallOutcome::Asked;
    if let Some(question) = &now.open_question {
        let question = question.clone();
        return if was_asked { BacktestVerdict::Same } else { BacktestVerdict::Asks { question } };
    }
    let (failed, fails) = (is_failure(before), now.refusal.is_some() || is_failed(&now.handled.outcome));
    if let Some(what) = &now.left.missing {
        let what = what.clone();
        return match (failed && before.server_calls.is_empty(), was_asked) {
            (true, _) => BacktestVerdict::Allowed { why: format!("it would call {what}") },
            (_, true) => BacktestVerdict::AsksNoLonger { why: format!("it would call {what}") },
            _ => BacktestVerdict::Calls { what },
        };
    }
    // A refusal counts even if a server has refused the call before.
    if fails && (!failed || (now.refusal.is_some() && before.refusal.is_none())) {
        let text = || error_text(&now.handled).unwrap_or_else(|| "it fails".to_owned());
        let (at, why) = match &now.refusal {
            Some(refusal) => (refusal.at.clone(), refusal.why.clone()),
            None => (None, text()),
        };
        return BacktestVerdict::Refused { at, why };
    }
    // A call without a log-in asks for it again.
    let asks_again = now.handled.outcome == CallOutcome::Asked;
    if (was_asked && !asks_again) || (!now.asked && now.has_answers) {
        return BacktestVerdict::AsksNoLonger { why: "nobody is asked".to_owned() };
    }
    if failed && !fails {
        return BacktestVerdict::Allowed { why: "it has a result".to_owned() };
    }
    if let Some(what) = &now.left.unused {
        return BacktestVerdict::Changed { why: format!("it no longer calls {what}") };
    }
    match (before.refusal.as_ref().map(|refusal| &refusal.why), now.refusal.as_ref().map(|refusal| &refusal.why)) {
        (Some(before), Some(now)) if before == now => return BacktestVerdict::Same,
        (Some(before), Some(now)) => {
            return BacktestVerdict::Changed { why: format!("it was refused with {before:?}, now with {now:?}") };
        }
        _ => {}
    }
    let result = before.result.as_deref();
    match same_result(result, now.handled.result.as_deref())
        && before.outcome.message() == now.handled.outcome.message()
    {
        true => BacktestVerdict::Same,
        false => BacktestVerdict::Changed { why: "the result differs".to_owned() },
    }
}

fn is_failure(before: &CallLine) -> bool {
    before.refusal.is_some() || is_failed(&before.outcome)
}

fn is_failed(outcome: &CallOutcome) -> bool {
    !matches!(outcome, CallOutcome::Ok | CallOutcome::Asked)
}

fn same_result(before: Option<&RawRef>, now: Option<&RawRef>) -> bool {
    let value = |raw: &RawRef| serde_json::from_str::<Value>(raw.get()).map(|value| canonical(&value)).ok();
    match (before, now) {
        (Some(before), Some(now)) => before == now || value(before) == value(now),
        (None, None) => true,
        _ => false,
    }
}

/// The text of an error, for people.
fn error_text(handled: &HandledCall) -> Option<String> {
    if let Some(message) = handled.outcome.message() {
        return Some(message.to_owned());
    }
    let result: Value = serde_json::from_str(handled.result.as_ref()?.get()).ok()?;
    result["content"][0]["text"].as_str().map(str::to_owned)
}
