//! A map whose entries may expire. Expired entries are removed by the next access, so no entry needs a timer.

use std::collections::{BTreeMap, BTreeSet};

/// A map with optional expiry times and a weight per entry.
pub(super) struct ExpiringMap<K, V> {
    entries: BTreeMap<K, ExpiringEntry<V>>,
    /// The keys of entries with an expiry time, in the order of expiry.
    expiries: BTreeSet<(u64, K)>,
    /// Total weight of all entries.
    weight: usize,
}

struct ExpiringEntry<V> {
    value: V,
    expires_at: Option<u64>,
    weight: usize,
}

impl<K, V> Default for ExpiringMap<K, V> {
    fn default() -> Self {
        ExpiringMap { entries: BTreeMap::new(), expiries: BTreeSet::new(), weight: 0 }
    }
}

impl<K: Ord + Clone, V> ExpiringMap<K, V> {
    /// Removes the entries that have expired at `now`, and calls `on_removed` with the key and weight of each.
    pub(super) fn sweep(&mut self, now: u64, mut on_removed: impl FnMut(&K, usize)) {
        while self.expiries.first().is_some_and(|(expires_at, _)| *expires_at <= now) {
            let Some((_, key)) = self.expiries.pop_first() else { return };
            if let Some(entry) = self.entries.remove(&key) {
                self.weight -= entry.weight;
                on_removed(&key, entry.weight);
            }
        }
    }

    /// Removes the entry that would expire next.
    pub(super) fn evict_next(&mut self) {
        if let Some((_, key)) = self.expiries.first().cloned() {
            self.remove(&key);
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(super) fn expires_at(&self, key: &K) -> Option<u64> {
        self.entries.get(key).and_then(|entry| entry.expires_at)
    }

    /// The weight of an entry; 0 if it does not exist.
    pub(super) fn weight_of(&self, key: &K) -> usize {
        self.entries.get(key).map_or(0, |entry| entry.weight)
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// The keys in order, starting at `first`.
    pub(super) fn keys_from<'a>(&'a self, first: &K) -> impl Iterator<Item = &'a K> {
        self.entries.range(first.clone()..).map(|(key, _)| key)
    }

    pub(super) fn put(&mut self, key: K, value: V, expires_at: Option<u64>, weight: usize) {
        self.remove(&key);
        if let Some(expires_at) = expires_at {
            self.expiries.insert((expires_at, key.clone()));
        }
        self.weight += weight;
        self.entries.insert(key, ExpiringEntry { value, expires_at, weight });
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (key, entry) = self.entries.remove_entry(key)?;
        self.weight -= entry.weight;
        if let Some(expires_at) = entry.expires_at {
            self.expiries.remove(&(expires_at, key));
        }
        Some(entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_gone_with_its_weight() {
        let mut shelf = ExpiringMap::default();
        shelf.put("a", 1, Some(10), 5);
        shelf.put("b", 2, Some(20), 7);
        shelf.put("c", 3, None, 1);
        shelf.put("a", 4, Some(30), 6);
        assert_eq!(shelf.weight(), 14);
        let mut told = Vec::new();
        shelf.sweep(20, |key, weight| told.push((*key, weight)));
        assert_eq!((shelf.get(&"a"), shelf.get(&"b"), shelf.get(&"c")), (Some(&4), None, Some(&3)));
        assert_eq!(told, [("b", 7)]);
        shelf.sweep(u64::MAX, |_, _| {});
        assert_eq!((shelf.get(&"a"), shelf.weight(), shelf.expiries.len()), (None, 1, 0));
    }
}
