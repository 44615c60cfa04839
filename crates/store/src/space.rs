//! Namespaces of values: their owner and the script they belong to.

use std::sync::Arc;

use proxy_model::Owner;

/// The values of one script for one owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    pub owner: Owner,
    /// The script or extension.
    pub namespace: Arc<str>,
}

impl Space {
    pub fn new(owner: Owner, namespace: impl Into<Arc<str>>) -> Self {
        Space { owner, namespace: namespace.into() }
    }

    /// The key with its namespace; the length prefix makes it unambiguous.
    pub(super) fn field(&self, key: &str) -> String {
        format!("{}:{}:{key}", self.namespace.len(), self.namespace)
    }
}

/// The size of a value as counted against its owner's limit. The overhead per entry bounds the number of tiny values
/// too.
pub(super) fn cost(field: &str, value: &[u8]) -> usize {
    field.len() + value.len() + ENTRY_OVERHEAD
}

pub(super) const ENTRY_OVERHEAD: usize = 64;
