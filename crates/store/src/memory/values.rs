//! The values of scripts, with a size limit per owner and in total.

use std::collections::HashMap;
use std::sync::Arc;

use crate::expiring_map::ExpiringMap;
use crate::space::cost;
use crate::{MAX_OWNER, StoreError};

/// Maximum total size of the values of all owners, in MiB.
const MAX_VALUES_MIB: usize = 256;

#[derive(Default)]
pub(super) struct Values {
    entries: ExpiringMap<(Arc<str>, String), Vec<u8>>,
    /// Total size of each owner's values.
    used: HashMap<Arc<str>, usize>,
}

/// The limit that a value would exceed.
pub(super) enum CapacityError {
    Owner,
    Store,
}

impl CapacityError {
    pub(super) fn of(self, key: &str) -> StoreError {
        match self {
            CapacityError::Owner => StoreError::OwnerFull { key: key.to_owned() },
            CapacityError::Store => StoreError::Full { what: "script values", limit: MAX_VALUES_MIB },
        }
    }
}

impl Values {
    /// The values after expired ones have been removed.
    pub(super) fn at(&mut self, now: u64) -> &mut Self {
        let used = &mut self.used;
        self.entries.sweep(now, |(owner, _), weight| subtract(used, owner, weight));
        self
    }

    pub(super) fn get(&self, owner: &Arc<str>, field: String) -> Option<Vec<u8>> {
        self.entries.get(&(owner.clone(), field)).cloned()
    }

    pub(super) fn expires_at(&self, owner: &Arc<str>, field: String) -> Option<u64> {
        self.entries.expires_at(&(owner.clone(), field))
    }

    pub(super) fn set(
        &mut self,
        owner: &Arc<str>,
        field: String,
        value: Vec<u8>,
        expires_at: Option<u64>,
    ) -> Result<(), CapacityError> {
        let weight = cost(&field, &value);
        let key = (owner.clone(), field);
        let before = self.entries.weight_of(&key);
        let used = self.used.get(owner).copied().unwrap_or_default() - before + weight;
        if used > MAX_OWNER {
            return Err(CapacityError::Owner);
        }
        if self.entries.weight() - before + weight > MAX_VALUES_MIB << 20 {
            return Err(CapacityError::Store);
        }
        self.used.insert(owner.clone(), used);
        self.entries.put(key, value, expires_at, weight);
        Ok(())
    }

    pub(super) fn delete(&mut self, owner: &Arc<str>, field: String) -> bool {
        let key = (owner.clone(), field);
        let weight = self.entries.weight_of(&key);
        let found = self.entries.remove(&key).is_some();
        subtract(&mut self.used, owner, weight);
        found
    }

    pub(super) fn forget(&mut self, owner: &Arc<str>) {
        let first = (owner.clone(), String::new());
        let keys: Vec<_> = self.entries.keys_from(&first).take_while(|(other, _)| other == owner).cloned().collect();
        keys.iter().for_each(|key| {
            self.entries.remove(key);
        });
        self.used.remove(owner);
    }
}

fn subtract(used: &mut HashMap<Arc<str>, usize>, owner: &Arc<str>, weight: usize) {
    if let Some(left) = used.get_mut(owner) {
        *left -= weight;
        if *left == 0 {
            used.remove(owner);
        }
    }
}
