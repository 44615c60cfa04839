//! The key of a surface: the user and the client it is built for.

use std::sync::Arc;

use crate::{ClientInfo, Principal};
use proxy_json::canonical;

/// A user and a client: everything that a session script can ask about the requester while it runs.
#[derive(Clone, Debug)]
pub struct SurfaceKey {
    pub principal: Principal,
    pub client: Arc<ClientInfo>,
    /// The name of the row of limits that the client has; `None` if the client tells it, or has none.
    pub row: Option<Arc<str>>,
}

/// The comparable form of a [`SurfaceKey`]. No script can distinguish two requesters with equal cache keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceCacheKey {
    principal: Principal,
    name: String,
    version: String,
    protocol_version: &'static str,
    capabilities: String,
    row: Option<Arc<str>>,
}

impl SurfaceKey {
    pub fn of(principal: Principal, client: Arc<ClientInfo>) -> Self {
        SurfaceKey { principal, client, row: None }
    }

    /// The key of the shared surface: no user and no client.
    pub fn anonymous() -> Self {
        SurfaceKey::of(Principal::anonymous(), Arc::default())
    }

    pub fn cache_key(&self) -> SurfaceCacheKey {
        SurfaceCacheKey {
            principal: self.principal.clone(),
            name: self.client.name(),
            version: self.client.version(),
            protocol_version: self.client.protocol_version,
            capabilities: canonical(&self.client.capabilities()),
            row: self.row.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cache_key(principal: Principal, capabilities: &str) -> SurfaceCacheKey {
        let client = ClientInfo {
            protocol_version: "2026-07-28",
            implementation: Some(proxy_json::raw(&json!({"name": "a", "version": "1"}))),
            capabilities: Some(proxy_json::valid(capabilities.to_owned()).unwrap()),
        };
        SurfaceKey::of(principal, Arc::new(client)).cache_key()
    }

    #[test]
    fn only_what_a_script_can_see_distinguishes_keys() {
        let ann = || Principal::named("ann");
        let first = cache_key(ann(), r#"{"roots":{},"sampling":{}}"#);
        assert_eq!(first, cache_key(ann(), r#"{ "sampling": {}, "roots": {} }"#));
        assert_ne!(first, cache_key(ann(), r#"{"roots":{}}"#));
        assert_ne!(first, cache_key(Principal::named("bob"), r#"{"roots":{},"sampling":{}}"#));
        let moved = ann().with(|user| user.groups = Arc::new(["ops".to_owned()]));
        assert_ne!(first, cache_key(moved, r#"{"roots":{},"sampling":{}}"#));
    }
}
