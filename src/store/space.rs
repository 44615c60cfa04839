//! Whose values, and of which script.

use std::sync::Arc;

use crate::model::Owner;

/// The values that one script has for one owner, or for everybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// None: the values that everybody shares.
    pub owner: Option<Owner>,
    /// Of which script or extension.
    pub namespace: Arc<str>,
}

impl Space {
    pub fn own(owner: Owner, namespace: impl Into<Arc<str>>) -> Self {
        Space { owner: Some(owner), namespace: namespace.into() }
    }

    pub fn shared(namespace: impl Into<Arc<str>>) -> Self {
        Space { owner: None, namespace: namespace.into() }
    }

    /// The key with its namespace; no two pairs give the same.
    pub(super) fn field(&self, key: &str) -> String {
        format!("{}:{}:{key}", self.namespace.len(), self.namespace)
    }
}

/// An owner as text. Sessions and requests are numbered by each process, so they are told apart by `process`.
pub(super) fn owner_text(owner: Option<&Owner>, process: &str) -> String {
    match owner {
        None => "shared".to_owned(),
        Some(Owner::Person(sub)) => format!("person:{sub}"),
        Some(Owner::Session(number)) => format!("session:{process}:{number}"),
        Some(Owner::Request(number)) => format!("request:{process}:{number}"),
    }
}

/// What a value costs of its owner's room: with something for each, so that many tiny ones are bounded too.
pub(super) fn cost(field: &str, value: &[u8]) -> usize {
    field.len() + value.len() + COST_OF_ENTRY
}

pub(super) const COST_OF_ENTRY: usize = 64;
