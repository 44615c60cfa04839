//! Who makes a request.

use std::sync::Arc;

/// An identity. Two requests with equal principals are made by the same person as far as the proxy can know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    pub sub: Arc<str>,
    pub email: Arc<str>,
    pub groups: Arc<[String]>,
    pub anonymous: bool,
    /// Speaks to the proxy through its own pipes: there is only one, and nobody had to prove anything.
    pub local: bool,
}

impl Principal {
    pub fn anonymous() -> Self {
        Principal { sub: "anonymous".into(), email: "".into(), groups: Arc::new([]), anonymous: true, local: false }
    }

    pub fn named(sub: &str) -> Self {
        Principal { sub: sub.into(), email: "".into(), groups: Arc::new([]), anonymous: false, local: false }
    }

    /// To whom what is sealed belongs. Anonymous people hold what only this process made, and that is all that is known
    /// of them.
    pub fn holder(&self) -> String {
        if self.anonymous { "anonymous".to_owned() } else { format!("person {}", self.sub) }
    }
}
