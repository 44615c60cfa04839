//! The client of a tested session, and the person behind it: answers in the order in which the test gave them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::backend::{Peer, Question};
use crate::diagnostic::Diagnostic;
use crate::json::{Raw, raw};
use crate::model::{Abilities, Owner};
use crate::wire::RpcError;

const ELICIT: &str = "elicitation/create";

#[derive(Debug)]
pub(super) struct Person {
    owner: Owner,
    abilities: Abilities,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    answers: VecDeque<Value>,
    questions: Vec<Value>,
    /// A question for which no answer was left.
    unanswered: Option<String>,
}

impl Person {
    pub(super) fn new(owner: Owner, abilities: Abilities, answers: Vec<Value>) -> Arc<Self> {
        let inner = Mutex::new(Inner { answers: answers.into(), ..Inner::default() });
        Arc::new(Person { owner, abilities, inner })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked so far.
    pub(super) fn questions(&self) -> Vec<Value> {
        self.inner().questions.clone()
    }

    /// The question for which there was no answer, told once.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.inner().unanswered.take()
    }

    /// Answers that nobody wanted.
    pub(super) fn left_over(&self) -> Option<Diagnostic> {
        let inner = self.inner();
        let (left, asked) = (inner.answers.len(), inner.questions.len());
        let first = inner.answers.front()?;
        let times = if asked == 1 { "once".to_owned() } else { format!("{asked} times") };
        Some(
            Diagnostic::error(format!("{left} of the `answers` of a session were not used; it asked {times}"))
                .note(format!("the first one that is left: {first}"))
                .hint("take them out, or call what asks for them"),
        )
    }

    fn answer(&self, question: &Question) -> Result<Raw, RpcError> {
        if question.method != ELICIT {
            return Err(RpcError::method_not_found(&question.method));
        }
        let params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
        let mut inner = self.inner();
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        inner.questions.push(json!({"message": message, "schema": params["requestedSchema"]}));
        match inner.answers.pop_front() {
            Some(answer) => Ok(raw(&answer)),
            None => {
                inner.unanswered = Some(message);
                Err(RpcError::internal("the test has no answer left"))
            }
        }
    }
}

impl Peer for Person {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        Box::pin(std::future::ready(self.answer(&question)))
    }

    fn takes_form(&self, _: &Question) -> bool {
        self.abilities.form
    }
}
