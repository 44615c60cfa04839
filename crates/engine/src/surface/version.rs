//! Identifies the script and the catalog of a surface by digests. Replicas of the proxy with the same script, settings
//! and server lists compute the same digests.

use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use proxy_model::{BackendView, ItemKind, Snapshot};

/// The digests of a surface.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceVersion {
    /// The digest of the script, its loaded modules and its settings.
    pub(crate) policy: Arc<str>,
    backends: Vec<Arc<BackendView>>,
    catalog: OnceLock<String>,
}

impl SurfaceVersion {
    pub(crate) fn new(policy: &str, snapshot: &Snapshot) -> Self {
        SurfaceVersion { policy: policy.into(), backends: snapshot.backends.clone(), catalog: OnceLock::new() }
    }

    /// The digest of everything that the servers list. Computed on first use, because only suspended calls need it.
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
                if let Some(lock) = &backend.lock {
                    lock.drift().iter().for_each(|line| add(line));
                }
            }
            proxy_json::hex(&digest.finalize())
        })
    }
}
