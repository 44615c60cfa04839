//! Whom a surface is for.

use std::sync::Arc;

use super::{ClientInfo, Principal};
use crate::json::canonical;

/// Somebody at some client: all that a session script can know of them while it runs.
#[derive(Clone, Debug)]
pub struct SurfaceKey {
    pub principal: Principal,
    pub client: Arc<ClientInfo>,
}

/// What tells visitors apart: those with equal keys look the same to every script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceCacheKey {
    principal: Principal,
    name: String,
    version: String,
    protocol_version: &'static str,
    capabilities: String,
}

impl SurfaceKey {
    /// Nobody in particular: for whom a script runs first.
    pub fn anonymous() -> Self {
        SurfaceKey { principal: Principal::anonymous(), client: Arc::default() }
    }

    pub fn key(&self) -> SurfaceCacheKey {
        SurfaceCacheKey {
            principal: self.principal.clone(),
            name: self.client.name(),
            version: self.client.version(),
            protocol_version: self.client.protocol_version,
            capabilities: canonical(&self.client.capabilities()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn visitor(principal: Principal, capabilities: &str) -> SurfaceKey {
        let client = ClientInfo {
            protocol_version: "2026-07-28",
            implementation: Some(crate::json::raw(&json!({"name": "a", "version": "1"}))),
            capabilities: Some(crate::json::valid(capabilities.to_owned()).unwrap()),
        };
        SurfaceKey { principal, client: Arc::new(client) }
    }

    #[test]
    fn only_what_a_script_can_see_tells_visitors_apart() {
        let ann = || Principal::named("ann");
        let first = visitor(ann(), r#"{"roots":{},"sampling":{}}"#).key();
        assert_eq!(first, visitor(ann(), r#"{ "sampling": {}, "roots": {} }"#).key());
        assert_ne!(first, visitor(ann(), r#"{"roots":{}}"#).key());
        assert_ne!(first, visitor(Principal::named("bob"), r#"{"roots":{},"sampling":{}}"#).key());
        let moved = Principal { groups: Arc::new(["ops".to_owned()]), ..ann() };
        assert_ne!(first, visitor(moved, r#"{"roots":{},"sampling":{}}"#).key());
    }
}
