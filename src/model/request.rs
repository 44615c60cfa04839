//! What is known of the request that is being handled.

use std::sync::Arc;

use serde_json::Value;

use super::{Owner, Principal};
use crate::json::{Object, Raw, RawRef};

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

    pub fn capabilities(&self) -> Value {
        let read = self.capabilities.as_deref().and_then(|raw| serde_json::from_str(raw.get()).ok());
        read.filter(Value::is_object).unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }

    fn text(&self, member: &str) -> String {
        let object = self.implementation.as_deref().map(RawRef::get).and_then(|text| Object::parse(text).ok());
        object.and_then(|object| object.string(member)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    }
}
