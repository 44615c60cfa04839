//! The recorded answers of servers to one call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::backtest::recording::ServerCallLine;
use proxy_json::{Raw, RawRef, canonical};
use proxy_mcp_client::CallError;
use proxy_model::{CallOutcome, ItemKind};
use proxy_wire::RpcError;

/// Identifies a server call: the called item and the canonical text of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnswerKey {
    server: String,
    method: String,
    item: String,
    arguments: String,
}

impl AnswerKey {
    fn of(server: &str, method: &str, params: &RawRef) -> Self {
        let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
        let member = ItemKind::used_by(method).map(ItemKind::use_member);
        let item = member.and_then(|member| params[member].as_str()).unwrap_or_default().to_owned();
        // A client may leave out the arguments where a script sends empty ones.
        let arguments = params.get("arguments").map(canonical).filter(|text| text != "{}").unwrap_or_default();
        AnswerKey { server: server.to_owned(), method: method.to_owned(), item, arguments }
    }

    /// For people.
    fn name(&self) -> String {
        format!("{} {}", self.server, self.item)
    }
}

/// The answers for the call that runs. Each is used once, the first unused one first.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayAnswers(Arc<Mutex<AnswersOfCall>>);

#[derive(Debug, Default)]
struct AnswersOfCall {
    unused: HashMap<AnswerKey, VecDeque<Result<Raw, CallError>>>,
    missing: Vec<String>,
}

/// How a finished call differs from the recorded server calls.
#[derive(Debug, Default)]
pub(super) struct LeftAnswers {
    /// The first call of a server for which there was no answer.
    pub(super) missing: Option<String>,
    /// A recorded call of a server that was not made again.
    pub(super) unused: Option<String>,
}

impl ReplayAnswers {
    /// Replaces all answers by those to these calls.
    pub(super) fn load(&self, calls: &[ServerCallLine]) {
        let mut answers = AnswersOfCall::default();
        for call in calls {
            let key = AnswerKey::of(&call.server, &call.method, &call.params);
            answers.unused.entry(key).or_default().push_back(recorded(call));
        }
        *self.0.lock() = answers;
    }

    /// The answer to a call of a server. One without a recorded answer stops the handler.
    pub(super) fn take(&self, server: &str, method: &str, params: &RawRef) -> Result<Raw, CallError> {
        let key = AnswerKey::of(server, method, params);
        let mut answers = self.0.lock();
        match answers.unused.get_mut(&key).and_then(VecDeque::pop_front) {
            Some(answer) => answer,
            None => {
                answers.missing.push(key.name());
                Err(CallError::Cancelled)
            }
        }
    }

    pub(super) fn left(&self) -> LeftAnswers {
        let answers = self.0.lock();
        let unused = answers.unused.iter().filter(|(_, left)| !left.is_empty()).map(|(key, _)| key.name()).min();
        LeftAnswers { missing: answers.missing.first().cloned(), unused }
    }
}

fn recorded(call: &ServerCallLine) -> Result<Raw, CallError> {
    match (&call.result, &call.outcome) {
        (Some(result), _) => Ok(Raw::clone(result)),
        (None, CallOutcome::Error { code, message }) => Err(CallError::Rpc(RpcError::new(*code, message))),
        (None, CallOutcome::Timeout { message } | CallOutcome::Failed { message }) => {
            Err(CallError::Failed { message: message.clone(), data: None })
        }
        // There was no log-in, and there is none in a backtest.
        (None, CallOutcome::Asked) => Err(CallError::LogInFirst {
            backend: call.server.as_str().into(),
            advice: "as in the recording".to_owned(),
            url: None,
            reason: None,
        }),
        (None, _) => Err(CallError::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_json::raw;
    use serde_json::json;

    fn call(arguments: &Value, result: &str) -> ServerCallLine {
        ServerCallLine {
            server: "s".to_owned(),
            method: "tools/call".to_owned(),
            params: raw(&json!({"name": "t", "arguments": arguments})),
            outcome: CallOutcome::Ok,
            result: Some(raw(&result)),
        }
    }

    #[test]
    fn answers_are_found_by_arguments_and_used_once_in_order() {
        let answers = ReplayAnswers::default();
        answers.load(&[
            call(&json!({"a": 1, "b": 2}), "first"),
            call(&json!({"a": 2}), "other"),
            call(&json!({"b": 2, "a": 1}), "second"),
        ]);
        let take = |arguments: Value| {
            let params = raw(&json!({"name": "t", "arguments": arguments}));
            answers.take("s", "tools/call", &params).ok().map(|result| result.get().to_owned())
        };
        assert_eq!(take(json!({"b": 2.0, "a": 1})).as_deref(), Some("\"first\""));
        assert_eq!(take(json!({"a": 1, "b": 2})).as_deref(), Some("\"second\""));
        assert_eq!(answers.left().unused.as_deref(), Some("s t"));
        assert_eq!(take(json!({"a": 1, "b": 2})), None);
        assert_eq!(answers.left().missing.as_deref(), Some("s t"));
    }
}
