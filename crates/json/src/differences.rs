//! In which members two objects differ.

use serde_json::{Map, Value};

use super::canonical;

/// The members that only one of the objects has, or that differ.
pub fn differences(before: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
    let same = |name: &String| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) => canonical(before) == canonical(now),
        (before, now) => before == now,
    };
    let removed = before.keys().filter(|name| !now.contains_key(*name));
    now.keys().chain(removed).filter(|name| !same(name)).cloned().collect()
}
