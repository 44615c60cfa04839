//! How often a form may be sent.

use std::net::IpAddr;
use std::time::Duration;

use proxy_store::{Limit, Store, StoreError};

/// From one address, in [`WINDOW`].
const MAX_POSTS: u32 = 20;
/// From a reverse proxy, which has one address for everybody.
const MAX_POSTS_OF_FRONT: u32 = 400;
const WINDOW: Duration = Duration::from_secs(60);

/// Whether one more form may be sent from this address.
pub(super) async fn admits(store: &Store, peer: Option<IpAddr>) -> Result<bool, StoreError> {
    let max = if peer.is_none_or(is_front) { MAX_POSTS_OF_FRONT } else { MAX_POSTS };
    let from = peer.map(|peer| peer.to_string()).unwrap_or_default();
    match Limit::new(format!("pages:{from}"), max, WINDOW) {
        Ok(limit) => Ok(store.take_tokens(&[limit]).await?.allowed),
        // Cannot happen: an address is a short text.
        Err(_) => Ok(true),
    }
}

/// Whether an address is one from which a reverse proxy may forward the requests of many.
fn is_front(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_sends_twenty_forms_a_minute() {
        let store = Store::memory_with(std::sync::Arc::new(|| 0));
        for _ in 0..MAX_POSTS {
            assert!(admits(&store, Some([203, 0, 113, 7].into())).await.unwrap());
        }
        assert!(!admits(&store, Some([203, 0, 113, 7].into())).await.unwrap());
        assert!(admits(&store, Some([203, 0, 113, 8].into())).await.unwrap());
        for _ in 0..=MAX_POSTS {
            assert!(admits(&store, Some([127, 0, 0, 1].into())).await.unwrap());
        }
    }
}
