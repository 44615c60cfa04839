//! The items that are not published, with reasons. Surfaces that skip the same items share this data: a thousand personal
//! surfaces may hide the same thousands of items.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use proxy_builtins::SkippedItem;

type SharedItems = Vec<SkippedItem>;

/// The lists in use, by their hashes. A `Weak` keeps the vector's head alive, but not the items.
static IN_USE: LazyLock<Mutex<HashMap<u64, Weak<SharedItems>>>> = LazyLock::new(Mutex::default);

/// An immutable list of skipped items.
#[derive(Clone, Debug)]
pub(super) struct SkippedItems(Arc<SharedItems>);

impl From<Vec<SkippedItem>> for SkippedItems {
    fn from(mut items: Vec<SkippedItem>) -> Self {
        let mut hasher = DefaultHasher::new();
        items.hash(&mut hasher);
        let hash = hasher.finish();
        let mut in_use = IN_USE.lock();
        if let Some(known) = in_use.get(&hash).and_then(Weak::upgrade).filter(|known| **known == items) {
            return SkippedItems(known);
        }
        in_use.retain(|_, items| items.strong_count() > 0);
        items.shrink_to_fit();
        let items = Arc::new(items);
        in_use.insert(hash, Arc::downgrade(&items));
        SkippedItems(items)
    }
}

impl Deref for SkippedItems {
    type Target = [SkippedItem];

    fn deref(&self) -> &[SkippedItem] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{ItemKind, ItemRef};

    #[test]
    fn surfaces_that_skip_the_same_share_one_list() {
        let skipped = |name: &str| SkippedItem {
            item: ItemRef { kind: ItemKind::Tool, backend: "one".into(), name: name.into() },
            why: "for a test".into(),
            site: None,
        };
        let list = || SkippedItems::from(vec![skipped("a"), skipped("b")]);
        let (one, same, other) = (list(), list(), SkippedItems::from(vec![skipped("a")]));
        assert_eq!((one.as_ptr(), one.len()), (same.as_ptr(), 2));
        assert_ne!(one.as_ptr(), other.as_ptr());
    }
}
