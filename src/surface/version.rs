//! Which script and which catalog a surface was made of: the same anywhere for the same script, settings and servers'
//! offers.

use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::model::Snapshot;
use crate::model::{BackendView, ItemKind};

#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) policy: Arc<str>,
    backends: Vec<Arc<BackendView>>,
    catalog: OnceLock<String>,
}

impl Version {
    pub(crate) fn new(policy: &str, snapshot: &Snapshot) -> Self {
        Version { policy: policy.into(), backends: snapshot.backends.clone(), catalog: OnceLock::new() }
    }

    /// Computed when first needed: only questions need it.
    pub(crate) fn catalog(&self) -> &str {
        self.catalog.get_or_init(|| {
            let mut digest = Sha256::new();
            let mut add = |text: &str| {
                digest.update(text.len().to_le_bytes());
                digest.update(text.as_bytes());
            };
            for backend in &self.backends {
                add(&backend.name);
                for kind in ItemKind::ALL {
                    let definitions = backend.lists.of(kind);
                    add(&definitions.len().to_string());
                    definitions.iter().for_each(|definition| add(definition.raw().get()));
                }
            }
            crate::json::hex(&digest.finalize())
        })
    }
}
