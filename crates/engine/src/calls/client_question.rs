//! A question of a script or of the proxy itself, encoded as the request to the client.

use std::time::Duration;

use serde_json::json;

use proxy_json::raw;
use proxy_mcp_client as backend;
use proxy_model::{Question, QuestionKind};

/// How long a person may take to answer. Tickets expire after the same time.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Encodes a script's question as the request to the client.
pub fn as_request(question: &Question) -> backend::Question {
    let (method, params) = match &question.kind {
        QuestionKind::Form => {
            ("elicitation/create", json!({"message": question.message, "requestedSchema": question.schema}))
        }
        QuestionKind::Url(url) => {
            ("elicitation/create", json!({"mode": "url", "message": question.message, "url": url}))
        }
        QuestionKind::Roots => ("roots/list", json!({})),
    };
    backend::Question {
        method: method.to_owned(),
        params: raw(&params),
        answer_timeout: ANSWER_TIMEOUT,
        asker: backend::Asker::Proxy,
    }
}
