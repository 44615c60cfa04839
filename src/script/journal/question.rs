//! A question that a handler asks the person behind the client.

use serde::{Deserialize, Serialize};

use crate::json::Raw;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub message: String,
    /// The JSON schema of the answer, which is an object.
    pub schema: Raw,
    /// How often the client has come back without a valid answer.
    #[serde(default)]
    pub reminders: u32,
}
