//! The questions of a suspended call that have no answer yet.

use std::time::Duration;

use serde_json::json;

use crate::client::question_channel::QueuedQuestion;
use proxy_json::{Object, Raw, quote, raw};
use proxy_mcp_client::Asker;
use proxy_wire::{RpcError, key};

/// How often a question is repeated if the client retries without an answer.
const MAX_REMINDERS: usize = 2;

#[derive(Default)]
pub(super) struct OpenQuestions {
    /// Each under the key by which the client answers it.
    asked: Vec<(String, QueuedQuestion)>,
    /// The number of questions so far, from which their keys are made.
    count: usize,
}

impl OpenQuestions {
    pub(super) fn add(&mut self, question: QueuedQuestion) {
        self.count += 1;
        self.asked.push((format!("question-{}", self.count), question));
    }

    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Drops the questions whose answers nobody waits for any more.
    pub(super) fn drop_withdrawn(&mut self) {
        self.asked.retain(|(_, open)| !open.answer.is_closed());
    }

    /// Whether all of them, and at least one, are about the log-in without which the call is not sent.
    pub(super) fn are_about_log_in(&self) -> bool {
        !self.is_empty() && self.asked.iter().all(|(_, open)| open.question.asker == Asker::LogIn)
    }

    /// Passes this answer to those about the log-in. Nobody has answered the others.
    pub(super) fn answer_log_in(&mut self, answer: &Raw) {
        for (name, question) in std::mem::take(&mut self.asked) {
            if question.question.asker == Asker::LogIn {
                // Sending fails if the call no longer waits for this answer.
                drop(question.answer.send(Ok(Raw::clone(answer))));
            } else {
                self.asked.push((name, question));
            }
        }
    }

    /// Gives up the log-in if its time is over, so that the call ends with what to do.
    pub(super) fn give_up_late_log_in(&mut self, until: u64, now: u64) {
        if until <= now {
            self.answer_log_in(&raw(&json!({"action": "cancel"})));
        }
    }

    /// Passes the answers on. A question without an answer is asked again, and fails after too many reminders.
    pub(super) fn take_answers(&mut self, answers: Option<&Object<'_>>) {
        for (name, mut question) in std::mem::take(&mut self.asked) {
            match answers.and_then(|answers| answers.get(&name)) {
                // Sending fails if the call no longer waits for this answer.
                Some(answer) => drop(question.answer.send(Ok(answer.to_owned()))),
                None if question.reminders >= MAX_REMINDERS => {
                    drop(question.answer.send(Err(RpcError::new(-1, "the client did not answer"))));
                }
                None => {
                    question.reminders += 1;
                    self.asked.push((name, question));
                }
            }
        }
    }

    /// The longest time that one of them may take.
    pub(super) fn timeout(&self) -> Duration {
        self.asked.iter().map(|(_, open)| open.question.answer_timeout).max().unwrap_or_default()
    }

    /// Encodes them as an `input_required` result.
    pub(super) fn as_result(&self, ticket: &str) -> String {
        let requests: Vec<String> = self
            .asked
            .iter()
            .map(|(name, open)| {
                let params = input_request_params(&open.question.params);
                format!("{}:{{\"method\":{},\"params\":{params}}}", quote(name), quote(&open.question.method))
            })
            .collect();
        format!(
            "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
            requests.join(","),
            quote(ticket)
        )
    }
}

/// The params of a question without the members that only session-based revisions define.
fn input_request_params(params: &Raw) -> String {
    match Object::of(params) {
        Ok(object) => object.edit().remove(key::META).remove("task").remove("elicitationId").finish(),
        Err(_) => params.get().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use proxy_mcp_client::Question;

    type Answer = oneshot::Receiver<Result<Raw, RpcError>>;

    fn asked(open: &mut OpenQuestions, asker: Asker) -> Answer {
        let (answer, receiver) = oneshot::channel();
        let params = raw(&json!({"message": "?", "elicitationId": "1"}));
        let answer_timeout = Duration::from_secs(1);
        let question = Question { method: "elicitation/create".to_owned(), params, answer_timeout, asker };
        open.add(QueuedQuestion { question, answer, reminders: 0 });
        receiver
    }

    #[test]
    fn a_call_is_unsent_while_nothing_but_the_log_in_is_asked() {
        let mut open = OpenQuestions::default();
        assert!(!open.are_about_log_in(), "nothing is asked");
        let _log_in = asked(&mut open, Asker::LogIn);
        assert!(open.are_about_log_in());
        let _consent = asked(&mut open, Asker::Proxy);
        assert!(!open.are_about_log_in());
    }

    #[test]
    fn a_log_in_that_took_too_long_is_given_up() {
        let mut open = OpenQuestions::default();
        let mut log_in = asked(&mut open, Asker::LogIn);
        let mut consent = asked(&mut open, Asker::Proxy);
        open.give_up_late_log_in(601, 600);
        assert!(log_in.try_recv().is_err(), "there is a second left");
        open.give_up_late_log_in(600, 600);
        assert!(log_in.try_recv().unwrap().unwrap().get().contains("cancel"));
        assert!(consent.try_recv().is_err() && open.len() == 1);
    }

    #[test]
    fn the_answer_about_a_log_in_is_no_answer_to_something_else() {
        let mut open = OpenQuestions::default();
        let mut log_in = asked(&mut open, Asker::LogIn);
        let mut consent = asked(&mut open, Asker::Proxy);
        let accepted = raw(&json!({"action": "accept"}));
        open.answer_log_in(&accepted);
        assert_eq!(log_in.try_recv().unwrap().unwrap().get(), accepted.get());
        assert!(consent.try_recv().is_err());
        // It keeps its key.
        assert!(open.as_result("t").contains("question-2") && !open.as_result("t").contains("question-1"));
        let answers = json!({"question-2": {"action": "decline"}}).to_string();
        open.take_answers(Some(&Object::of(&proxy_json::valid(answers).unwrap()).unwrap()));
        assert!(consent.try_recv().unwrap().unwrap().get().contains("decline"));
        assert!(open.is_empty());
    }
}
