//! The labels of an item.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The label of what strangers may have written.
pub const UNTRUSTED: &str = "untrusted";
/// The label of what sends data out.
pub const EGRESS: &str = "egress";

/// The maximum length of a label, in characters.
const MAX_LENGTH: usize = 64;

/// A set of labels, in alphabetical order. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Labels(Arc<BTreeSet<Arc<str>>>);

impl Labels {
    pub fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter()
    }

    pub fn contains(&self, label: &str) -> bool {
        self.0.contains(label)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These labels and those of another set.
    pub fn with(&self, other: &Labels) -> Labels {
        if other.is_empty() {
            return self.clone();
        }
        self.iter().chain(other.iter()).cloned().collect()
    }
}

impl FromIterator<Arc<str>> for Labels {
    fn from_iter<T: IntoIterator<Item = Arc<str>>>(labels: T) -> Self {
        Labels(Arc::new(labels.into_iter().collect()))
    }
}

impl std::fmt::Display for Labels {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels: Vec<&str> = self.iter().map(AsRef::as_ref).collect();
        formatter.write_str(&labels.join(", "))
    }
}

/// Whether a text can be a label.
///
/// # Errors
/// What is wrong with it.
pub fn check_label(label: &str) -> Result<(), String> {
    let is_allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-.:".contains(letter);
    if label.len() <= MAX_LENGTH
        && label.starts_with(|first: char| first.is_ascii_lowercase())
        && label.chars().all(is_allowed)
    {
        return Ok(());
    }
    let shown: String = label.chars().take(MAX_LENGTH).collect();
    Err(format!(
        "`{shown}` is not a label: a label has at most {MAX_LENGTH} lower-case letters, digits and `_-.:`, and begins with a \
         letter"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_short_word() {
        for good in ["secret", "untrusted", "team-a.read_1", "a:b"] {
            assert_eq!(check_label(good), Ok(()));
        }
        for bad in ["", "Secret", "1st", "a b", "a,b", "ä", &"a".repeat(65)] {
            assert!(check_label(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_are_sorted_and_unique() {
        let labels: Labels = ["b", "a", "b"].into_iter().map(Arc::from).collect();
        let other: Labels = [Arc::from("c")].into_iter().collect();
        assert_eq!(labels.with(&other).to_string(), "a, b, c");
        assert_eq!(labels.with(&Labels::default()), labels);
    }
}
