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

/// Decrypts a result from the store. Blocking.
pub(super) fn opened(sealer: &Sealer, owner: &Owner, id: &str, sealed: &[u8]) -> Option<KeptResult> {
    KeptResult::from_bytes(&sealer.open_bytes(Purpose::Result, &name(owner, id), sealed)?)
}

/// For whom a result is sealed. The store keeps the results of an owner under a key of that owner.
fn name(owner: &Owner, id: &str) -> String {
    format!("{id} {}", owner.text(""))
}
