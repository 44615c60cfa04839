//! Whose values, and of which script.

use std::sync::Arc;

/// To whom values belong.
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
    /// As text; `process` tells the sessions and requests of one process from those of another.
    pub(super) fn text(&self, process: &str) -> String {
        match self {
            Holder::Everybody => "everybody".to_owned(),
            Holder::Person(sub) => format!("person:{sub}"),
            Holder::Session(number) => format!("session:{process}:{number}"),
            Holder::Request(number) => format!("request:{process}:{number}"),
        }
    }
}

/// The values that one script has for one holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    pub holder: Holder,
    /// Of which script or extension.
    pub namespace: Arc<str>,
}

impl Space {
    pub fn new(holder: Holder, namespace: impl Into<Arc<str>>) -> Self {
        Space { holder, namespace: namespace.into() }
    }

    /// The key with its namespace; no two pairs give the same.
    pub(super) fn field(&self, key: &str) -> String {
        format!("{}:{}:{key}", self.namespace.len(), self.namespace)
    }
}

/// What a value costs of its owner's room: with something for each, so that many tiny ones are bounded too.
pub(super) fn cost(field: &str, value: &[u8]) -> usize {
    field.len() + value.len() + COST_OF_ENTRY
}

pub(super) const COST_OF_ENTRY: usize = 64;
