//! Caches verified tokens by digest, so that only the first request with a token pays for a signature check.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

const MAX_TOKENS: usize = 10_000;

pub(super) type TokenDigest = [u8; 32];

/// A token is never kept itself.
pub(super) fn digest(token: &str) -> TokenDigest {
    Sha256::digest(token.as_bytes()).into()
}

#[derive(Debug)]
pub(super) struct TokenCache<T>(Mutex<CachedTokens<T>>);

#[derive(Debug)]
struct CachedTokens<T> {
    tokens: HashMap<TokenDigest, (Arc<T>, SystemTime)>,
    /// The oldest first.
    order: VecDeque<TokenDigest>,
}

impl<T> Default for TokenCache<T> {
    fn default() -> Self {
        TokenCache(Mutex::new(CachedTokens { tokens: HashMap::new(), order: VecDeque::new() }))
    }
}

impl<T> TokenCache<T> {
    pub(super) fn get(&self, digest: &TokenDigest, now: SystemTime) -> Option<Arc<T>> {
        let cached = self.0.lock();
        let (value, until) = cached.tokens.get(digest)?;
        (now < *until).then(|| Arc::clone(value))
    }

    /// Whether a token was in here, even if its time is over.
    pub(super) fn has_seen(&self, digest: &TokenDigest) -> bool {
        self.0.lock().tokens.contains_key(digest)
    }

    /// Forgets a token that is no longer good.
    pub(super) fn forget(&self, digest: &TokenDigest) {
        let mut cached = self.0.lock();
        if cached.tokens.remove(digest).is_some() {
            cached.order.retain(|known| known != digest);
        }
    }

    pub(super) fn insert(&self, digest: TokenDigest, value: Arc<T>, until: SystemTime) {
        let mut cached = self.0.lock();
        if cached.tokens.insert(digest, (value, until)).is_none() {
            cached.order.push_back(digest);
        }
        while cached.order.len() > MAX_TOKENS {
            if let Some(oldest) = cached.order.pop_front() {
                cached.tokens.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_is_known_until_it_ends_and_the_oldest_make_room() {
        let (cache, now) = (TokenCache::default(), SystemTime::now());
        let (soon, later) = (now + Duration::from_secs(1), now + Duration::from_secs(2));
        cache.insert(digest("a"), Arc::new(1), soon);
        assert_eq!(cache.get(&digest("a"), now).as_deref(), Some(&1));
        assert_eq!(cache.get(&digest("a"), soon), None);
        assert!(cache.has_seen(&digest("a")) && !cache.has_seen(&digest("b")));
        assert_eq!(cache.get(&digest("b"), now), None);
        for number in 0..MAX_TOKENS {
            cache.insert(digest(&number.to_string()), Arc::new(number), later);
        }
        assert_eq!(cache.get(&digest("a"), now), None);
        assert!(cache.get(&digest("0"), now).is_some());
        assert_eq!(cache.0.lock().tokens.len(), MAX_TOKENS);
    }
}
