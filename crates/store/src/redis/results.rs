//! Results of tools that are kept because the client gets them in pages.

use std::time::Duration;

use super::millis;
use super::replicas::ReplicaStore;
use crate::driver::Outcome;
use proxy_model::Owner;

/// The maximum number of results of one owner.
const MAX_RESULTS: usize = 1000;

impl ReplicaStore {
    /// Keeps a result for this time. The oldest results of the owner make room, so that all of them together have at most
    /// `most` bytes.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn put_result(&self, owner: &Owner, id: &str, content: &[u8], ttl: Duration, most: usize) -> Outcome<()> {
        let ttl = millis(ttl).max(1).to_string();
        let most = most.to_string();
        let count = MAX_RESULTS.to_string();
        let arguments = [id.as_bytes(), content, ttl.as_bytes(), most.as_bytes(), count.as_bytes()];
        self.script(&self.scripts().put_result, &self.keys().results(owner), &arguments).await
    }

    /// A result of this owner, and how long it is still kept.
    ///
    /// # Errors
    /// If the store is away.
    pub async fn result(&self, owner: &Owner, id: &str) -> Outcome<Option<(Vec<u8>, Duration)>> {
        let keys = self.keys().results(owner);
        let (content, left): (Option<Vec<u8>>, u64) =
            self.script(&self.scripts().get_result, &keys, &[id.as_bytes()]).await?;
        Ok(content.map(|content| (content, Duration::from_millis(left))))
    }
}
