//! What scripts remember, with the room that each owner has and the room there is in all.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::expiring_map::Shelf;
use crate::store::space::cost;
use crate::store::{MAX_OWNER, StoreError};

/// In MiB: what the values of all owners may take together.
const VALUES: usize = 256;

#[derive(Default)]
pub(super) struct Values {
    shelf: Shelf<(Arc<str>, String), Vec<u8>>,
    /// What each owner's values take.
    used: HashMap<Arc<str>, usize>,
}

/// What has no room for a value.
pub(super) enum NoRoom {
    Owner,
    Store,
}

impl NoRoom {
    pub(super) fn of(self, key: &str) -> StoreError {
        match self {
            NoRoom::Owner => StoreError::OwnerFull { key: key.to_owned() },
            NoRoom::Store => StoreError::Full { what: "the values of all owners", limit: VALUES },
        }
    }
}

impl Values {
    /// The values as they are at this time.
    pub(super) fn at(&mut self, now: u64) -> &mut Self {
        let used = &mut self.used;
        self.shelf.sweep(now, |(owner, _), weight| less(used, owner, weight));
        self
    }

    pub(super) fn get(&self, owner: &Arc<str>, field: String) -> Option<Vec<u8>> {
        self.shelf.get(&(owner.clone(), field)).cloned()
    }

    pub(super) fn end(&self, owner: &Arc<str>, field: String) -> Option<u64> {
        self.shelf.end(&(owner.clone(), field))
    }

    pub(super) fn set(
        &mut self,
        owner: &Arc<str>,
        field: String,
        value: Vec<u8>,
        end: Option<u64>,
    ) -> Result<(), NoRoom> {
        let weight = cost(&field, &value);
        let key = (owner.clone(), field);
        let before = self.shelf.weight_of(&key);
        let used = self.used.get(owner).copied().unwrap_or_default() - before + weight;
        if used > MAX_OWNER {
            return Err(NoRoom::Owner);
        }
        if self.shelf.weight() - before + weight > VALUES << 20 {
            return Err(NoRoom::Store);
        }
        self.used.insert(owner.clone(), used);
        self.shelf.put(key, value, end, weight);
        Ok(())
    }

    pub(super) fn delete(&mut self, owner: &Arc<str>, field: String) -> bool {
        let key = (owner.clone(), field);
        let weight = self.shelf.weight_of(&key);
        let found = self.shelf.remove(&key).is_some();
        less(&mut self.used, owner, weight);
        found
    }

    pub(super) fn forget(&mut self, owner: &Arc<str>) {
        let first = (owner.clone(), String::new());
        let keys: Vec<_> = self.shelf.keys_from(&first).take_while(|(other, _)| other == owner).cloned().collect();
        keys.iter().for_each(|key| {
            self.shelf.remove(key);
        });
        self.used.remove(owner);
    }
}

fn less(used: &mut HashMap<Arc<str>, usize>, owner: &Arc<str>, weight: usize) {
    if let Some(left) = used.get_mut(owner) {
        *left -= weight;
        if *left == 0 {
            used.remove(owner);
        }
    }
}
