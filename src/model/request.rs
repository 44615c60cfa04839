//! What is known of the request that is being handled.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Owner, Principal};
use crate::json::{Object, Raw};

#[derive(Clone, Debug)]
pub struct Request {
    /// `tools/call`, `resources/read` or `prompts/get`.
    pub method: &'static str,
    /// The published name or URI.
    pub name: Arc<str>,
    pub principal: Principal,
    /// Whose it is, and so whose state it sees; none for calls that the operator makes from a command line.
    pub owner: Option<Owner>,
    pub client: Arc<ClientInfo>,
    /// Those that the config lets scripts see.
    pub headers: Arc<[(String, String)]>,
}

/// More of a client's name or version is not looked at: it may be anything.
const MOST_TEXT: usize = 256;
const MOST_CAPABILITIES: usize = 16 << 10;

/// What a client says of itself, as it wrote it: read only when somebody wants to know.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// The agreed revision; empty where there is no protocol in between.
    pub protocol_version: &'static str,
    /// The object with its name and version.
    pub implementation: Option<Raw>,
    pub capabilities: Option<Raw>,
}

impl ClientInfo {
    pub fn name(&self) -> String {
        self.text("name")
    }

    pub fn version(&self) -> String {
        self.text("version")
    }

    /// What is far longer than any client's says nothing.
    pub fn capabilities(&self) -> Value {
        let told = self.capabilities.as_deref().filter(|raw| raw.get().len() <= MOST_CAPABILITIES);
        let read = told.and_then(|raw| serde_json::from_str(raw.get()).ok());
        read.filter(Value::is_object).unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }

    fn text(&self, member: &str) -> String {
        let object = self.implementation.as_deref().and_then(|raw| Object::of(raw).ok());
        let text = object.and_then(|object| object.string(member)).unwrap_or_default();
        text.chars().take(MOST_TEXT).collect()
    }

    /// Nothing but what scripts see of it, to be kept for longer than a request.
    pub fn seen(&self) -> Self {
        ClientInfo {
            protocol_version: self.protocol_version,
            implementation: Some(crate::json::raw(&json!({"name": self.name(), "version": self.version()}))),
            capabilities: Some(crate::json::raw(&self.capabilities())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_did_not_say_is_empty() {
        let silent = ClientInfo::default();
        assert_eq!((silent.name(), silent.version(), silent.capabilities()), (String::new(), String::new(), json!({})));
        let told = ClientInfo {
            implementation: Some(crate::json::raw(&json!({"name": "inspector", "version": "1.2"}))),
            capabilities: Some(crate::json::raw(&json!({"roots": {}}))),
            ..ClientInfo::default()
        };
        assert_eq!((told.name().as_str(), told.version().as_str()), ("inspector", "1.2"));
        assert_eq!(told.capabilities(), json!({"roots": {}}));
        let seen = told.seen();
        assert_eq!(
            (seen.name(), seen.version(), seen.capabilities()),
            (told.name(), told.version(), told.capabilities())
        );
    }

    #[test]
    fn what_is_kept_of_a_client_has_a_bound() {
        let long = "x".repeat(1 << 20);
        let told = ClientInfo {
            implementation: Some(crate::json::raw(&json!({"name": long, "icons": [long]}))),
            capabilities: Some(crate::json::raw(&json!({"experimental": long}))),
            ..ClientInfo::default()
        };
        assert_eq!((told.name().len(), told.capabilities()), (256, json!({})));
        assert!(told.seen().implementation.is_some_and(|kept| kept.get().len() < 300));
    }
}
