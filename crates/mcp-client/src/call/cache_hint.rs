//! How long clients may cache a list.

use std::time::Duration;

/// The TTL and the cache scope of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl: Duration,
    /// Whether every client gets the same list, so that a shared cache may keep it.
    pub public: bool,
}

impl CacheHint {
    /// The hint for a list that is merged from two others: the shorter TTL, and public only if both are.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        CacheHint { ttl: self.ttl.min(other.ttl), public: self.public && other.public }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_list_has_the_stricter_hint() {
        let long = CacheHint { ttl: Duration::from_secs(60), public: true };
        let short = CacheHint { ttl: Duration::from_secs(5), public: true };
        assert_eq!(long.and(short), short);
        assert_eq!(long.and(CacheHint::default()), CacheHint::default());
    }
}
