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
        let mut sources: Vec<(u64, &str, Vec<&str>)> = Vec::new();
        for (label, mark) in self.0.iter().filter(|(label, _)| labels.contains(label)) {
            match sources.iter_mut().find(|(_, source, _)| *source == mark.source) {
                Some((at, _, named)) => {
                    *at = mark.at.min(*at);
                    named.push(label);
                }
                None => sources.push((mark.at, &mark.source, vec![label])),
            }
        }
        sources.sort_by_key(|(at, ..)| *at);
        let told = sources.iter().map(|(_, source, labels)| format!("`{source}` ({})", labels.join(", ")));
        told.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_told_in_its_order() {
        let mark = |source: &str, at| Mark { source: source.to_owned(), at };
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
    }
}
