//! The request methods that clients send, as MCP defines them. A method name is parsed once, with its message.

use super::Revision;
use proxy_model::{ItemKind, is_protocol_method};

/// The method of a request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Initialize,
    Ping,
    ServerDiscover,
    SubscriptionsListen,
    List(ItemKind),
    ToolsCall,
    ResourcesRead,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    PromptsGet,
    CompletionComplete,
    LoggingSetLevel,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    TasksResult,
    /// A method that MCP does not define: it may belong to a server.
    Vendor,
    /// A method that MCP defines or reserves, and that clients do not send to the proxy.
    Unknown,
}

impl Method {
    pub fn parse(name: &str) -> Self {
        match name {
            "initialize" => Method::Initialize,
            "ping" => Method::Ping,
            "server/discover" => Method::ServerDiscover,
            "subscriptions/listen" => Method::SubscriptionsListen,
            "tools/list" => Method::List(ItemKind::Tool),
            "resources/list" => Method::List(ItemKind::Resource),
            "resources/templates/list" => Method::List(ItemKind::ResourceTemplate),
            "prompts/list" => Method::List(ItemKind::Prompt),
            "tools/call" => Method::ToolsCall,
            "resources/read" => Method::ResourcesRead,
            "resources/subscribe" => Method::ResourcesSubscribe,
            "resources/unsubscribe" => Method::ResourcesUnsubscribe,
            "prompts/get" => Method::PromptsGet,
            "completion/complete" => Method::CompletionComplete,
            "logging/setLevel" => Method::LoggingSetLevel,
            "tasks/get" => Method::TasksGet,
            "tasks/update" => Method::TasksUpdate,
            "tasks/cancel" => Method::TasksCancel,
            "tasks/result" => Method::TasksResult,
            _ if is_protocol_method(name) => Method::Unknown,
            _ => Method::Vendor,
        }
    }

    /// Whether a revision has this method.
    pub fn is_in(self, revision: Revision) -> bool {
        let stateless = revision.is_stateless();
        match self {
            Method::Unknown => false,
            Method::ServerDiscover | Method::SubscriptionsListen | Method::TasksUpdate => stateless,
            Method::Initialize
            | Method::Ping
            | Method::LoggingSetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe => !stateless,
            Method::TasksGet | Method::TasksCancel => stateless || revision == Revision::V2025_11_25,
            Method::TasksResult => revision == Revision::V2025_11_25,
            Method::List(_)
            | Method::ToolsCall
            | Method::ResourcesRead
            | Method::PromptsGet
            | Method::CompletionComplete
            | Method::Vendor => true,
        }
    }

    /// The kind of the item that a request of this method names in its params, and uses.
    pub fn item_kind(self) -> Option<ItemKind> {
        match self {
            Method::ToolsCall => Some(ItemKind::Tool),
            Method::ResourcesRead | Method::ResourcesSubscribe => Some(ItemKind::Resource),
            Method::PromptsGet => Some(ItemKind::Prompt),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_era_has_methods_of_its_own() {
        for (name, session, stateless) in [
            ("initialize", true, false),
            ("ping", true, false),
            ("logging/setLevel", true, false),
            ("resources/subscribe", true, false),
            ("tasks/result", true, false),
            ("server/discover", false, true),
            ("subscriptions/listen", false, true),
            ("tasks/update", false, true),
            ("tools/call", true, true),
            ("tasks/get", true, true),
            ("vendor/search", true, true),
            ("tools/destroy", false, false),
        ] {
            let method = Method::parse(name);
            assert_eq!(method.is_in(Revision::V2025_11_25), session, "{name}");
            assert_eq!(method.is_in(Revision::V2026_07_28), stateless, "{name}");
        }
        assert!(!Method::TasksGet.is_in(Revision::V2025_06_18));
    }
}
