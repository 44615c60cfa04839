//! How often a form may be sent.

use std::net::IpAddr;
use std::time::Duration;

use proxy_store::{Limit, Store, StoreError};

/// By one person, or from one address, in [`WINDOW`].
const MAX_POSTS: u32 = 20;
/// From a reverse proxy, which has one address for everybody.
const MAX_POSTS_OF_FRONT: u32 = 400;
const WINDOW: Duration = Duration::from_secs(60);

/// Whether one more form may be sent, by this person or else from this address.
pub(super) async fn admits(store: &Store, person: Option<&str>, peer: Option<IpAddr>) -> Result<bool, StoreError> {
    let (from, max) = match (person, peer) {
        (Some(person), _) => (format!("person:{person}"), MAX_POSTS),
        (None, Some(peer)) if !is_front(peer) => (network(peer), MAX_POSTS),
        (None, peer) => (peer.map(network).unwrap_or_default(), MAX_POSTS_OF_FRONT),
    };
    match Limit::new(format!("pages:{from}"), max, WINDOW) {
        Ok(limit) => Ok(store.take_tokens(&[limit]).await?.allowed),
        // Cannot happen: an address and a digest are short texts.
        Err(_) => Ok(true),
    }
}

/// What one household or machine has: an address, or with IPv6 a network.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::")
        }
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
            assert!(admits(&store, None, Some([203, 0, 113, 7].into())).await.unwrap());
        }
        assert!(!admits(&store, None, Some([203, 0, 113, 7].into())).await.unwrap());
        assert!(admits(&store, None, Some([203, 0, 113, 8].into())).await.unwrap());
        for _ in 0..=MAX_POSTS {
            assert!(admits(&store, None, Some([127, 0, 0, 1].into())).await.unwrap());
        }
        // Those of one person count by themselves, wherever they are.
        assert!(admits(&store, Some("ann"), Some([203, 0, 113, 7].into())).await.unwrap());
        let [near, far] = ["2001:db8::1", "2001:db8::2"].map(|address| Some(address.parse().unwrap()));
        for _ in 0..MAX_POSTS {
            assert!(admits(&store, None, near).await.unwrap());
        }
        assert!(!admits(&store, None, far).await.unwrap());
    }
}
