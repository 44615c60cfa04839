//! What a server says about itself and lists.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Definition, Era, PerKind};

/// The first revision without sessions.
const FIRST_STATELESS_REVISION: &str = "2026-07-28";

/// The information that a server gives about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
    pub title: String,
    pub instructions: String,
    pub protocol_version: String,
    /// The server's capabilities object.
    pub capabilities: Value,
    /// The server's `serverInfo`, with all of its members; null if it sent none.
    pub implementation: Value,
}

impl ServerInfo {
    pub fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// The era of the protocol in which this was said.
    pub fn era(&self) -> Era {
        if self.protocol_version.as_str() >= FIRST_STATELESS_REVISION { Era::Stateless } else { Era::Session }
    }

    /// Whether its tools can be called as tasks of revision 2025-11-25. In other revisions this capability has no
    /// meaning.
    pub fn has_session_tasks(&self) -> bool {
        self.protocol_version == "2025-11-25" && self.capabilities["tasks"]["requests"]["tools"].is_object()
    }
}

/// Everything a server lists, in its order.
pub type Lists = PerKind<Vec<Arc<Definition>>>;
