//! The line about a question of a server between calls.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use uuid::Uuid;

use super::audited_call::{AuditSubject, DecidedBy};
use super::line::timestamp;
use proxy_model::flow::FlowDecision;
use proxy_model::{CallRefusal, Principal};

/// What flow rules have decided about a question that a server asked while no call ran.
pub struct ServerQuestion {
    pub at: SystemTime,
    /// Who was asked, or would have been.
    pub principal: Principal,
    pub server: Arc<str>,
    pub method: String,
    /// The digest of the script with its settings; `None` if it has not run yet.
    pub policy: Option<Arc<str>>,
    /// The rules that applied.
    pub flow: Vec<FlowDecision>,
    /// Why the server gets no answer; `None` if it gets one.
    pub refusal: Option<CallRefusal>,
}

impl ServerQuestion {
    pub(super) fn line(&self) -> Value {
        let refusal = self.refusal.as_ref();
        json!({
            "id": Uuid::now_v7().to_string(), "at": timestamp(self.at), "type": "server_question",
            "outcome": if refusal.is_some() { "denied" } else { "success" },
            "subject": AuditSubject::of(&self.principal, None, None),
            "target": {"method": self.method, "server": self.server},
            "policy": DecidedBy::new(self.policy.as_deref(), refusal),
            "flow": self.flow,
        })
    }
}
