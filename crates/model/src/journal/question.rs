//! A question that a handler asks the client or the person behind it.

use serde::{Deserialize, Serialize};

use proxy_json::Raw;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// What the person reads. No person reads a question for folders: the name of its method identifies it in records.
    pub message: String,
    /// The JSON schema of the answer, which is an object.
    pub schema: Raw,
    /// How often the client has come back without a valid answer.
    #[serde(default)]
    pub reminders: u32,
    #[serde(default)]
    pub kind: QuestionKind,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuestionKind {
    /// A form that the person fills in.
    #[default]
    Form,
    /// The person's consent to visit this address.
    Url(String),
    /// The folders of the client.
    Roots,
}

impl Question {
    /// What identifies the question in a replay, besides its message.
    pub fn detail(&self) -> &str {
        match &self.kind {
            QuestionKind::Form => self.schema.get(),
            QuestionKind::Url(url) => url,
            QuestionKind::Roots => "",
        }
    }
}
