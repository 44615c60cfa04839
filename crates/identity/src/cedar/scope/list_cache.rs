//! Caches policy decisions about lists, for all callers of a class.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::caller_class::CallerClass;
use crate::cedar::access::{AccessItem, Listed};
use crate::cedar::action::PolicyAction;

/// Above so many decisions, all are made again.
const MAX_DECISIONS: usize = 100_000;

/// Everything that policies can read of an item.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ItemKey {
    action: PolicyAction,
    id: Box<str>,
    server: Box<str>,
    original: Box<str>,
    /// A digest of the definition.
    definition: Option<Box<str>>,
}

impl ItemKey {
    fn of(item: &AccessItem<'_>) -> Self {
        ItemKey {
            action: item.action,
            id: item.id.into(),
            server: item.server.into(),
            original: item.original.into(),
            definition: item.definition.map(|definition| definition.text_digest().into()),
        }
    }
}

#[derive(Debug, Default)]
pub(in crate::cedar) struct ListCache {
    decisions: Mutex<HashMap<CallerClass, HashMap<ItemKey, Listed>>>,
}

impl ListCache {
    /// Which items are listed for a class. `decide` is asked about those that are not known, in their order; what it cannot
    /// decide is not listed this time.
    pub(in crate::cedar) fn list<'a>(
        &self,
        class: CallerClass,
        items: &[AccessItem<'a>],
        decide: impl FnOnce(&[AccessItem<'a>]) -> Option<Vec<Listed>>,
    ) -> Vec<Listed> {
        let keys: Vec<ItemKey> = items.iter().map(ItemKey::of).collect();
        let known: Vec<Option<Listed>> = match self.decisions.lock().get(&class) {
            Some(decided) => keys.iter().map(|key| decided.get(key).copied()).collect(),
            None => vec![None; keys.len()],
        };
        let unknown = || known.iter().enumerate().filter(|(_, known)| known.is_none()).map(|(index, _)| index);
        let asked: Vec<AccessItem<'a>> = unknown().map(|index| items[index]).collect();
        if asked.is_empty() {
            return known.into_iter().flatten().collect();
        }
        let Some(decided) = decide(&asked) else {
            return known.into_iter().map(|known| known.unwrap_or(Listed::No)).collect();
        };
        let decided: HashMap<usize, Listed> = unknown().zip(decided).collect();
        let mut decisions = self.decisions.lock();
        if decisions.values().map(HashMap::len).sum::<usize>() + asked.len() > MAX_DECISIONS {
            decisions.clear();
        }
        let of_class = decisions.entry(class).or_default();
        let mut listed = Vec::with_capacity(keys.len());
        for (index, (key, known)) in keys.into_iter().zip(known).enumerate() {
            let decision = known.or_else(|| decided.get(&index).copied()).unwrap_or(Listed::No);
            of_class.insert(key, decision);
            listed.push(decision);
        }
        listed
    }
}
