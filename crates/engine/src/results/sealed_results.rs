//! Kept results in a store that other processes share, encrypted for their owner.

use std::time::Duration;

use super::kept_in_memory::MAX_OWNER;
use super::kept_result::KeptResult;
use proxy_base::seal::{Purpose, Sealer};
use proxy_model::Owner;
use proxy_store::{Outcome, ReplicaStore};

/// Encrypts a result for the store. `None` if that fails, which it does only without random numbers.
pub(super) fn sealed(sealer: &Sealer, owner: &Owner, id: &str, kept: &KeptResult) -> Option<Vec<u8>> {
    sealer.seal_bytes(Purpose::Result, &name(owner, id), &kept.to_bytes()?).ok()
}

pub(super) async fn put(store: &ReplicaStore, owner: &Owner, id: &str, sealed: Vec<u8>, keep: Duration) -> Outcome<()> {
    store.put_result(owner, id, &sealed, keep, MAX_OWNER).await
}

/// A result as it is in the store.
pub(super) struct SealedResult {
    pub(super) owner: Owner,
    pub(super) id: String,
    pub(super) content: Vec<u8>,
}

impl SealedResult {
    /// Decrypts it. Blocking.
    pub(super) fn opened(&self, sealer: &Sealer) -> Option<KeptResult> {
        let content = sealer.open_bytes(Purpose::Result, &name(&self.owner, &self.id), &self.content)?;
        KeptResult::from_bytes(&content)
    }
}

/// For whom a result is sealed. The store keeps the results of an owner under a key of that owner.
fn name(owner: &Owner, id: &str) -> String {
    format!("{id} {}", owner.text(""))
}
