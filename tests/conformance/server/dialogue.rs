//! Asking the client in the middle of a call: with requests of the server's own in a session, with `input_required`
//! results where there is none. A tool says what it asks in which rounds and need not know the era.

use rmcp::ErrorData;
use rmcp::model::{ClientResult, InputRequest, InputRequests, InputRequiredResult, InputResponses, ServerRequest};
use rmcp::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::questions::{answerable, capability};
use crate::seal;

pub struct Dialogue {
    rounds: Vec<InputRequests>,
    /// Whether the client carries the state of the dialogue. Without it there is one round only.
    sealed: bool,
}

pub enum Outcome {
    Answered(InputResponses),
    Asked(InputRequiredResult),
}

#[derive(Default, Serialize, Deserialize)]
struct Progress {
    rounds_asked: usize,
    answers: InputResponses,
}

impl Dialogue {
    pub fn once(questions: InputRequests) -> Self {
        Self { rounds: vec![questions], sealed: false }
    }

    pub fn with_state(rounds: impl Into<Vec<InputRequests>>) -> Self {
        Self { rounds: rounds.into(), sealed: true }
    }

    pub async fn hold(self, call: &Call) -> Result<Outcome, ErrorData> {
        let capabilities = call.capabilities();
        for question in self.rounds.iter().flat_map(InputRequests::values) {
            if !answerable(question, &capabilities) {
                return Err(unanswerable(question, call));
            }
        }
        if call.is_stateless() { self.next_round(call) } else { self.ask_in_session(call).await }
    }

    fn next_round(self, call: &Call) -> Result<Outcome, ErrorData> {
        let mut progress = match &call.state {
            Some(sealed) if self.sealed => seal::open(sealed)?,
            _ if self.sealed => Progress::default(),
            _ => Progress { rounds_asked: 1, ..Progress::default() },
        };
        if let Some(asked) = progress.rounds_asked.checked_sub(1).and_then(|last| self.rounds.get(last)) {
            let given = asked.keys().filter_map(|key| Some((key.clone(), call.answers.get(key)?.clone())));
            let given: InputResponses = given.filter(|(_, answer)| answer.is_object()).collect();
            if given.len() == asked.len() {
                progress.answers.extend(given);
            } else {
                progress.rounds_asked -= 1;
            }
        }
        let Some(questions) = self.rounds.get(progress.rounds_asked) else {
            return Ok(Outcome::Answered(progress.answers));
        };
        progress.rounds_asked += 1;
        let state = if self.sealed { Some(seal::close(&progress)?) } else { None };
        Ok(Outcome::Asked(InputRequiredResult::new(Some(questions.clone()), state)))
    }

    async fn ask_in_session(self, call: &Call) -> Result<Outcome, ErrorData> {
        let mut answers = InputResponses::new();
        for (key, question) in self.rounds.into_iter().flatten() {
            let answer = call.context.peer.send_request(request(question)?).await.map_err(told)?;
            answers.insert(key, value(&answer)?);
        }
        Ok(Outcome::Answered(answers))
    }
}

fn unanswerable(question: &InputRequest, call: &Call) -> ErrorData {
    match capability(question) {
        Ok(needed) if call.is_stateless() => ErrorData::missing_required_client_capability(needed),
        Ok(needed) => ErrorData::invalid_request(
            "the client has not declared the capability for this",
            serde_json::to_value(needed).ok(),
        ),
        Err(problem) => problem,
    }
}

fn request(question: InputRequest) -> Result<ServerRequest, ErrorData> {
    match question {
        InputRequest::CreateMessage(request) => Ok(request.into()),
        InputRequest::Elicitation(request) => Ok(request.into()),
        InputRequest::ListRoots(request) => Ok(request.into()),
        _ => Err(ErrorData::internal_error("a question of an unknown kind", None)),
    }
}

fn value(answer: &ClientResult) -> Result<Value, ErrorData> {
    serde_json::to_value(answer).map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
}

fn told(failure: ServiceError) -> ErrorData {
    match failure {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}
