//! How often a form may be sent.

use std::net::IpAddr;
use std::time::Duration;

use proxy_store::{Limit, Store, StoreError};

/// By one person, or from one address, in [`WINDOW`].
const MAX_POSTS: u32 = 20;
/// To one address.
const MAX_RETURNS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

/// Whether one more form may be sent, by this person or else from this address.
pub(super) async fn admits_form(store: &Store, person: Option<&str>, peer: Option<IpAddr>) -> Result<bool, StoreError> {
    match person {
        Some(person) => admits(store, format!("pages:person:{person}"), MAX_POSTS).await,
        None => admits_from(store, "pages", peer, MAX_POSTS).await,
    }
}

/// Whether one more person may come back to this address from the issuer.
pub(super) async fn admits_return(store: &Store, peer: Option<IpAddr>) -> Result<bool, StoreError> {
    admits_from(store, "returns", peer, MAX_RETURNS).await
}

/// Nothing is counted behind a reverse proxy, which has one address for everybody: one client could keep out all others.
async fn admits_from(store: &Store, what: &str, peer: Option<IpAddr>, max: u32) -> Result<bool, StoreError> {
    match peer {
        Some(peer) if !is_front(peer) => admits(store, format!("{what}:{}", network(peer)), max).await,
        _ => Ok(true),
    }
}

async fn admits(store: &Store, name: String, max: u32) -> Result<bool, StoreError> {
    match Limit::new(name, max, WINDOW) {
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
            assert!(admits_form(&store, None, Some([203, 0, 113, 7].into())).await.unwrap());
        }
        assert!(!admits_form(&store, None, Some([203, 0, 113, 7].into())).await.unwrap());
        assert!(admits_form(&store, None, Some([203, 0, 113, 8].into())).await.unwrap());
        // Returns count by themselves.
        assert!(admits_return(&store, Some([203, 0, 113, 7].into())).await.unwrap());
        // Those of one person count by themselves, wherever they are.
        assert!(admits_form(&store, Some("ann"), Some([203, 0, 113, 7].into())).await.unwrap());
        let [near, far] = ["2001:db8::1", "2001:db8::2"].map(|address| Some(address.parse().unwrap()));
        for _ in 0..MAX_POSTS {
            assert!(admits_form(&store, None, near).await.unwrap());
        }
        assert!(!admits_form(&store, None, far).await.unwrap());
    }

    #[tokio::test]
    async fn behind_a_reverse_proxy_nobody_is_kept_out_by_others() {
        let store = Store::memory_with(std::sync::Arc::new(|| 0));
        for front in [Some([127, 0, 0, 1].into()), Some([10, 0, 0, 1].into()), None] {
            for _ in 0..1000 {
                assert!(admits_form(&store, None, front).await.unwrap());
                assert!(admits_return(&store, front).await.unwrap());
            }
        }
        // Who has signed in is known everywhere.
        for _ in 0..MAX_POSTS {
            assert!(admits_form(&store, Some("ann"), None).await.unwrap());
        }
        assert!(!admits_form(&store, Some("ann"), None).await.unwrap());
    }
}
