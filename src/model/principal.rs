//! Who makes a request.

use std::sync::Arc;

/// An identity. Two requests with equal principals are made by the same person as far as the proxy can know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    pub sub: Arc<str>,
    pub email: Arc<str>,
    /// What they are called; empty where nobody says.
    pub name: Arc<str>,
    pub groups: Arc<[String]>,
    /// What else is said of them: a JSON object, as text.
    pub claims: Arc<str>,
    pub anonymous: bool,
    /// Speaks to the proxy through its own pipes: there is only one, and nobody had to prove anything.
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
