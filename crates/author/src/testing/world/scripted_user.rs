//! The client of a tested session and its user. Answers elicitations with the test's `answers` in order, returns its
//! roots, and records the log messages that it receives.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use proxy_base::diagnostic::Diagnostic;
use proxy_json::{Raw, RawRef, raw};
use proxy_mcp_client::{Peer, Question, SessionEnd};
use proxy_model::{Abilities, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

const ELICIT: &str = "elicitation/create";
const ROOTS: &str = "roots/list";

#[derive(Debug)]
pub(crate) struct ScriptedUser {
    owner: Owner,
    abilities: Abilities,
    /// The folders of the client: objects with `uri` and optionally `name`.
    roots: Vec<Value>,
    dialogue: Mutex<Dialogue>,
}

#[derive(Debug, Default)]
struct Dialogue {
    answers: VecDeque<Value>,
    questions: Vec<Value>,
    notifications: Vec<Value>,
    /// The message of a question for which no answer was left.
    unanswered: Option<String>,
}

impl ScriptedUser {
    pub(crate) fn new(owner: Owner, abilities: Abilities, answers: Vec<Value>, roots: Vec<Value>) -> Arc<Self> {
        let dialogue = Mutex::new(Dialogue { answers: answers.into(), ..Dialogue::default() });
        Arc::new(ScriptedUser { owner, abilities, roots, dialogue })
    }

    fn dialogue(&self) -> MutexGuard<'_, Dialogue> {
        self.dialogue.lock()
    }

    /// The questions so far: objects with `message` and `schema`, or with `message` and `url`.
    pub(crate) fn questions(&self) -> Vec<Value> {
        self.dialogue().questions.clone()
    }

    /// The log messages that the client received: objects with `level`, `data` and maybe `logger`.
    pub(crate) fn notifications(&self) -> Vec<Value> {
        self.dialogue().notifications.clone()
    }

    /// Takes the message of the question for which no answer was left.
    pub(crate) fn take_unanswered(&self) -> Option<String> {
        self.dialogue().unanswered.take()
    }

    /// An error if some answers were not used.
    pub(super) fn unused_answers(&self) -> Option<Diagnostic> {
        let dialogue = self.dialogue();
        let (left, asked) = (dialogue.answers.len(), dialogue.questions.len());
        let first = dialogue.answers.front()?;
        let answers = if left == 1 { "1 answer".to_owned() } else { format!("{left} answers") };
        let questions = if asked == 1 { "1 question".to_owned() } else { format!("{asked} questions") };
        Some(
            Diagnostic::error(format!("{answers} in `answers` not used: the session asked {questions}"))
                .note(format!("first unused answer: {first}"))
                .hint("remove unused answers, or call the tool that asks for them"),
        )
    }

    fn answer(&self, question: &Question) -> Result<Raw, RpcError> {
        if question.method == ROOTS {
            return Ok(raw(&json!({ "roots": self.roots })));
        }
        if question.method != ELICIT {
            return Err(RpcError::method_not_found(&question.method));
        }
        let params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
        let mut dialogue = self.dialogue();
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        dialogue.questions.push(match params.get("url") {
            Some(url) => json!({"message": message, "url": url}),
            None => json!({"message": message, "schema": params["requestedSchema"]}),
        });
        match dialogue.answers.pop_front() {
            Some(answer) => Ok(raw(&answer)),
            None => {
                dialogue.unanswered = Some(message);
                Err(RpcError::internal("no answer left in `answers` of the test"))
            }
        }
    }
}

impl Peer for ScriptedUser {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn person(&self) -> Owner {
        self.owner.clone()
    }

    fn person_key(&self) -> Option<PersonKey> {
        None
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        None
    }

    fn era(&self) -> Era {
        Era::Session
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        Box::pin(std::future::ready(self.answer(&question)))
    }

    fn supports(&self, question: &Question) -> bool {
        question.is_within(self.abilities)
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn askable(&self) -> Abilities {
        self.abilities
    }

    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        None
    }

    fn understands_url_error(&self) -> bool {
        false
    }

    fn log(&self, params: &RawRef) {
        let params = serde_json::from_str(params.get()).unwrap_or_default();
        self.dialogue().notifications.push(params);
    }

    fn notify(&self, _: &str, _: Option<&RawRef>) {}

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn hops(&self) -> Option<&str> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        None
    }

    fn gone(&self) -> Option<SessionEnd> {
        None
    }
}
