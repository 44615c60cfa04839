//! A question that a handler has for a person.

use serde::{Deserialize, Serialize};

use crate::json::Raw;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub message: String,
    /// Of the object that answers it.
    pub schema: Raw,
    /// How often it came back without an answer that fits.
    #[serde(default)]
    pub reminders: u32,
}
