//! What a conversation has seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Labels;

/// What a conversation has read first under a label, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The name of the item, or what set the mark otherwise.
    pub source: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// Grows with each mark that a process sets: several may be set in one millisecond.
    #[serde(default)]
    pub nth: u64,
}

/// The labels of everything that a conversation has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks(pub BTreeMap<Arc<str>, Mark>);

impl Marks {
    pub fn labels(&self) -> Labels {
        self.0.keys().cloned().collect()
    }

    pub fn has(&self, label: &str) -> bool {
        self.0.contains_key(label)
    }

    /// What was read under these labels: "`fetch` (untrusted), `read_vault` (secret)", in the order in which it was read.
    pub fn told(&self, labels: &Labels) -> String {
        let mut sources: Vec<((u64, u64), &str, Vec<&str>)> = Vec::new();
        for (label, mark) in self.0.iter().filter(|(label, _)| labels.contains(label)) {
            match sources.iter_mut().find(|(_, source, _)| *source == mark.source) {
                Some((first, _, named)) => {
                    *first = (mark.at, mark.nth).min(*first);
                    named.push(label);
                }
                None => sources.push(((mark.at, mark.nth), &mark.source, vec![label])),
            }
        }
        sources.sort_by_key(|(first, ..)| *first);
        let told = sources.iter().map(|(_, source, labels)| format!("`{source}` ({})", labels.join(", ")));
        told.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_told_in_its_order() {
        let mark = |source: &str, at| Mark { source: source.to_owned(), at, nth: 0 };
        let marks = Marks(
            [
                ("egress".into(), mark("fetch", 1)),
                ("secret".into(), mark("read_vault", 2)),
                ("untrusted".into(), mark("fetch", 1)),
            ]
            .into(),
        );
        let labels = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Labels>();
        assert_eq!(marks.told(&labels(&["secret", "untrusted"])), "`fetch` (untrusted), `read_vault` (secret)");
        assert_eq!(marks.told(&labels(&["egress", "untrusted", "x"])), "`fetch` (egress, untrusted)");
        let at_once = |source: &str, nth| Mark { source: source.to_owned(), at: 1, nth };
        let marks = Marks([("a".into(), at_once("second", 8)), ("b".into(), at_once("first", 7))].into());
        assert_eq!(marks.told(&labels(&["a", "b"])), "`first` (b), `second` (a)");
    }
}
