//! Things with an end, in the order of it: whoever passes by takes away what is over, so no thing needs a timer.

use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Shelf<K, V> {
    things: BTreeMap<K, Thing<V>>,
    ends: BTreeSet<(u64, K)>,
    /// What all things weigh together.
    weight: usize,
}

struct Thing<V> {
    value: V,
    end: Option<u64>,
    weight: usize,
}

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Shelf { things: BTreeMap::new(), ends: BTreeSet::new(), weight: 0 }
    }
}

impl<K: Ord + Clone, V> Shelf<K, V> {
    /// Takes away what is over at `now`, and tells each with its weight.
    pub(super) fn sweep(&mut self, now: u64, mut tell: impl FnMut(&K, usize)) {
        while self.ends.first().is_some_and(|(end, _)| *end <= now) {
            let Some((_, key)) = self.ends.pop_first() else { return };
            if let Some(thing) = self.things.remove(&key) {
                self.weight -= thing.weight;
                tell(&key, thing.weight);
            }
        }
    }

    /// Takes away what is over next.
    pub(super) fn drop_next(&mut self) {
        if let Some((_, key)) = self.ends.first().cloned() {
            self.remove(&key);
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.things.get(key).map(|thing| &thing.value)
    }

    pub(super) fn end(&self, key: &K) -> Option<u64> {
        self.things.get(key).and_then(|thing| thing.end)
    }

    /// What the thing weighs; nothing if it is not there.
    pub(super) fn weight_of(&self, key: &K) -> usize {
        self.things.get(key).map_or(0, |thing| thing.weight)
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// The keys from this one on.
    pub(super) fn keys_from<'a>(&'a self, first: &K) -> impl Iterator<Item = &'a K> {
        self.things.range(first.clone()..).map(|(key, _)| key)
    }

    pub(super) fn put(&mut self, key: K, value: V, end: Option<u64>, weight: usize) {
        self.remove(&key);
        if let Some(end) = end {
            self.ends.insert((end, key.clone()));
        }
        self.weight += weight;
        self.things.insert(key, Thing { value, end, weight });
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (key, thing) = self.things.remove_entry(key)?;
        self.weight -= thing.weight;
        if let Some(end) = thing.end {
            self.ends.remove(&(end, key));
        }
        Some(thing.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_gone_with_its_weight() {
        let mut shelf = Shelf::default();
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
        assert_eq!((shelf.get(&"a"), shelf.weight(), shelf.ends.len()), (None, 1, 0));
    }
}
