//! Namespaces of values: their owner and the script they belong to.

use std::sync::Arc;

/// The owner of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    Everybody,
    Person(Arc<str>),
    /// Numbered by each process.
    Session(u64),
    /// Numbered by each process.
    Request(u64),
}

impl Holder {
    /// The owner as part of a storage key. `process` distinguishes the sessions and requests of different processes.
    pub(super) fn text(&self, process: &str) -> String {
        match self {
            Holder::Everybody => "everybody".to_owned(),
            Holder::Person(sub) => format!("person:{sub}"),
            Holder::Session(number) => format!("session:{process}:{number}"),
            Holder::Request(number) => format!("request:{process}:{number}"),
        }
    }
}

/// The values of one script for one owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    pub holder: Holder,
    /// The script or extension.
    pub namespace: Arc<str>,
}

impl Space {
    pub fn new(holder: Holder, namespace: impl Into<Arc<str>>) -> Self {
        Space { holder, namespace: namespace.into() }
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
