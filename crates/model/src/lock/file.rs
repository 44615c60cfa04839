//! The content of a lock file.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::pretty::compact;
use crate::{ClientProfile, Definition, DefinitionError, ItemKind, PerKind, ServerInfo};

/// What an operator approved, by server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFile {
    pub servers: BTreeMap<String, LockedServer>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockedServer {
    /// A digest of the program or address in the config. Under another one, nothing of the server is approved.
    pub identity: String,
    /// What the server said about itself, by client profile.
    pub infos: Vec<LockedInfo>,
    pub items: PerKind<BTreeMap<String, LockedItem>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LockedInfo {
    /// Empty if all clients saw the same.
    pub profiles: Vec<ClientProfile>,
    pub info: Arc<ServerInfo>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockedItem {
    /// The server did not list the item when it was last locked. What was approved of it stays approved.
    pub absent: bool,
    /// The item was reviewed and is not wanted.
    pub block: bool,
    /// What was approved, by client profile.
    pub definitions: Vec<LockedDefinition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LockedDefinition {
    /// Empty if all clients saw the same.
    pub profiles: Vec<ClientProfile>,
    pub definition: Arc<Definition>,
    /// The digest of the canonical form.
    pub digest: String,
}

impl LockedDefinition {
    pub fn new(profiles: Vec<ClientProfile>, definition: &Definition, kind: ItemKind) -> Result<Self, DefinitionError> {
        // As it will be read from the file.
        let definition = Definition::parse(kind, compact(definition.raw()))?;
        let digest = definition.digest();
        Ok(LockedDefinition { profiles, definition: Arc::new(definition), digest })
    }
}

impl Definition {
    /// The digest of the canonical form: equal definitions have equal digests, whatever the order of their members.
    pub fn digest(&self) -> String {
        proxy_json::digest(&self.value())
    }

    /// The definition as a value.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.raw().get()).unwrap_or_default()
    }
}

impl LockedItem {
    /// Whether this text is approved for clients of any profile.
    pub fn approves(&self, digest: &str) -> bool {
        self.definitions.iter().any(|approved| approved.digest == digest)
    }
}
