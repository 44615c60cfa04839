//! The user who makes a request.

use std::sync::Arc;

/// The identity of a user. To the proxy, requests with equal principals come from the same user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    pub sub: Arc<str>,
    pub email: Arc<str>,
    /// Display name; empty if unknown.
    pub name: Arc<str>,
    pub groups: Arc<[String]>,
    /// Further claims, as the text of a JSON object.
    pub claims: Arc<str>,
    pub anonymous: bool,
    /// The local user of stdio, who needs no authentication.
    pub local: bool,
}

impl Principal {
    pub fn anonymous() -> Self {
        Principal { anonymous: true, ..Principal::named("anonymous") }
    }

    pub fn named(sub: &str) -> Self {
        Principal {
            sub: sub.into(),
            email: "".into(),
            name: "".into(),
            groups: Arc::new([]),
            claims: "{}".into(),
            anonymous: false,
            local: false,
        }
    }
}
