//! What flow rules say about one call.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Labels, Marks};

/// What a rule does with a call that it applies to. The later ones are stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowAction {
    Log,
    Ask,
    Deny,
}

impl FlowAction {
    pub fn as_str(self) -> &'static str {
        match self {
            FlowAction::Log => "log",
            FlowAction::Ask => "ask",
            FlowAction::Deny => "deny",
        }
    }
}

/// What the conversation of a call has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Marked(Marks),
    /// Nobody knows, so it counts as having read something under each of these labels.
    Unknown(Labels),
}

impl Reading {
    pub fn has(&self, label: &str) -> bool {
        match self {
            Reading::Marked(marks) => marks.has(label),
            Reading::Unknown(labels) => labels.contains(label),
        }
    }

    pub fn labels(&self) -> Labels {
        match self {
            Reading::Marked(marks) => marks.labels(),
            Reading::Unknown(labels) => labels.clone(),
        }
    }

    /// What was read under these labels, as the end of a sentence.
    pub fn told(&self, labels: &Labels) -> String {
        match self {
            Reading::Marked(marks) => format!("this conversation has read {}", marks.told(labels)),
            Reading::Unknown(_) => format!(
                "a request without a user or a session counts as having read everything ({labels}), because the proxy cannot \
                 know what it belongs to"
            ),
        }
    }
}

/// A rule that applies to a call, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowDecision {
    /// What was done.
    pub action: FlowAction,
    /// The marks that decided.
    pub marks: Vec<Arc<str>>,
    /// The label of the item that was called.
    pub then: Arc<str>,
    /// The item, by its name in the surface.
    pub item: String,
    /// Whether the person agreed, if they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<bool>,
}
