//! The marks of owners in memory.

use std::sync::Arc;

use crate::expiring_map::ExpiringMap;
use crate::{MAX_MARKS, StoreError};

/// Maximum total size of all marks, in MiB.
const MAX_MARKS_MIB: usize = 32;
/// Approximate size of a mark beside its texts, in bytes.
const ENTRY_OVERHEAD: usize = 160;

/// The text of each mark, by owner and mark.
#[derive(Default)]
pub(super) struct Marks(ExpiringMap<(Arc<str>, String), String>);

impl Marks {
    /// The marks after expired ones have been removed.
    pub(super) fn at(&mut self, now: u64) -> &mut Self {
        self.0.sweep(now, |_, _| {});
        self
    }

    pub(super) fn of(&self, owner: &Arc<str>) -> Vec<(String, String)> {
        let first = (owner.clone(), String::new());
        let keys = self.0.keys_from(&first).take_while(|(other, _)| other == owner);
        keys.filter_map(|key| Some((key.1.clone(), self.0.get(key)?.clone()))).collect()
    }

    pub(super) fn add(
        &mut self,
        owner: &Arc<str>,
        marks: &[(Arc<str>, String)],
        expires_at: u64,
    ) -> Result<(), StoreError> {
        let known = self.of(owner);
        let new = marks.iter().filter(|(mark, _)| !known.iter().any(|(name, _)| **name == **mark)).count();
        if new > 0 && known.len() + new > MAX_MARKS {
            return Err(StoreError::TooManyMarks);
        }
        for (mark, text) in marks {
            let key = (owner.clone(), mark.to_string());
            let text = self.0.get(&key).unwrap_or(text).clone();
            let weight = owner.len() + 2 * mark.len() + text.len() + ENTRY_OVERHEAD;
            if self.0.weight() - self.0.weight_of(&key) + weight > MAX_MARKS_MIB << 20 {
                return Err(StoreError::Full { what: "marks", limit: MAX_MARKS_MIB });
            }
            // Another mark may have been set for longer, before the config was changed.
            let expires_at = self.0.expires_at(&key).map_or(expires_at, |known| known.max(expires_at));
            self.0.put(key, text, Some(expires_at), weight);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, owner: &Arc<str>) {
        for (mark, _) in self.of(owner) {
            self.0.remove(&(owner.clone(), mark));
        }
    }
}
