//! The request that a handler serves, as scripts see it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::{ItemKind, Owner, Principal, ScopeRules};
use proxy_json::{Object, Raw, RawRef};

#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// `tools/call`, `resources/read` or `prompts/get`; in `on_other_request` any other method.
    pub method: Cow<'static, str>,
    /// The published name or URI; for a method that MCP does not define, the method.
    pub name: Arc<str>,
    pub principal: Principal,
    /// The owner of the request and of the state that it can use; `None` for calls from the command line.
    pub owner: Option<Owner>,
    pub client: Arc<ClientInfo>,
    /// The headers that the config makes visible to scripts.
    pub headers: Arc<[(String, String)]>,
    /// The scopes that the use of items needs.
    pub scope_rules: Arc<ScopeRules>,
}

impl RequestInfo {
    /// Whether the request calls a tool, reads a resource or gets a prompt.
    pub fn is_for_item(&self) -> bool {
        ItemKind::used_by(&self.method).is_some()
    }
}

/// Maximum length read of a client's name or version, in characters.
const MAX_TEXT: usize = 256;
/// Maximum size of a client's capabilities, in bytes. Larger capabilities are ignored.
const MAX_CAPABILITIES: usize = 16 << 10;

/// The information that a client gives about itself, as raw JSON that is parsed on demand.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// The negotiated revision; empty for calls that do not arrive over the protocol.
    pub protocol_version: &'static str,
    /// The `clientInfo` object, with the client's name and version.
    pub implementation: Option<Raw>,
    pub capabilities: Option<Raw>,
}

impl ClientInfo {
    /// The maximum size of `clientInfo` and `capabilities` together. They are kept for as long as the client is known.
    pub const MAX_BYTES: usize = 16 << 10;

    /// What a client says about itself.
    ///
    /// # Errors
    /// The size, if it is above the limit.
    pub fn new(
        protocol_version: &'static str,
        implementation: Option<&RawRef>,
        capabilities: Option<&RawRef>,
    ) -> Result<Self, usize> {
        let size = [implementation, capabilities].into_iter().flatten().map(|raw| raw.get().len()).sum();
        if size > Self::MAX_BYTES {
            return Err(size);
        }
        let (implementation, capabilities) = (implementation.map(RawRef::to_owned), capabilities.map(RawRef::to_owned));
        Ok(ClientInfo { protocol_version, implementation, capabilities })
    }

    pub fn name(&self) -> String {
        self.text("name")
    }

    pub fn version(&self) -> String {
        self.text("version")
    }

    /// The declared capabilities; empty if they are missing, not an object, or too large.
    pub fn capabilities(&self) -> Value {
        let raw = self.capabilities.as_deref().filter(|raw| raw.get().len() <= MAX_CAPABILITIES);
        let parsed = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        parsed.filter(Value::is_object).unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }

    fn text(&self, member: &str) -> String {
        let object = self.implementation.as_deref().and_then(|raw| Object::of(raw).ok());
        let text = object.and_then(|object| object.string(member)).unwrap_or_default();
        text.chars().take(MAX_TEXT).collect()
    }

    /// A copy reduced to what scripts can read, small enough to be kept for longer than a request.
    pub fn seen(&self) -> Self {
        ClientInfo {
            protocol_version: self.protocol_version,
            implementation: Some(proxy_json::raw(&json!({"name": self.name(), "version": self.version()}))),
            capabilities: Some(proxy_json::raw(&self.capabilities())),
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
            implementation: Some(proxy_json::raw(&json!({"name": "inspector", "version": "1.2"}))),
            capabilities: Some(proxy_json::raw(&json!({"roots": {}}))),
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
            implementation: Some(proxy_json::raw(&json!({"name": long, "icons": [long]}))),
            capabilities: Some(proxy_json::raw(&json!({"experimental": long}))),
            ..ClientInfo::default()
        };
        assert_eq!((told.name().len(), told.capabilities()), (256, json!({})));
        assert!(told.seen().implementation.is_some_and(|kept| kept.get().len() < 300));
    }
}
