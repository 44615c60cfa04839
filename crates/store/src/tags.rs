//! Tags of a value: words that whoever reads the value gets with it. They are stored in front of the value, so that both
//! change at once.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Begins a value with tags, and any other value that begins like this. No JSON text does.
const MARKER: u8 = 1;

/// Words without commas and line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub BTreeSet<Arc<str>>);

impl Tags {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words, separated by commas.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
    }

    pub(super) fn parse(text: &str) -> Self {
        Tags(text.split(',').filter(|word| !word.is_empty()).map(Arc::from).collect())
    }

    pub(super) fn with(&self, other: &Tags) -> Tags {
        Tags(self.0.union(&other.0).cloned().collect())
    }

    /// The value with these tags in front.
    pub(super) fn before(&self, value: Vec<u8>) -> Vec<u8> {
        if self.is_empty() && value.first() != Some(&MARKER) {
            return value;
        }
        let mut tagged = vec![MARKER];
        tagged.extend_from_slice(self.text().as_bytes());
        tagged.push(b'\n');
        tagged.extend(value);
        tagged
    }

    /// The value without its tags, and the tags.
    pub(super) fn split(mut stored: Vec<u8>) -> (Vec<u8>, Tags) {
        if stored.first() != Some(&MARKER) {
            return (stored, Tags::default());
        }
        let Some(end) = stored.iter().position(|byte| *byte == b'\n') else { return (stored, Tags::default()) };
        let value = stored.split_off(end + 1);
        (value, Tags::parse(&String::from_utf8_lossy(&stored[1..end])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_with_its_tags() {
        let tags = Tags::parse("b,a,,b");
        assert_eq!(tags.text(), "a,b");
        assert_eq!(Tags::split(tags.before(b"[1]\n".to_vec())), (b"[1]\n".to_vec(), tags.clone()));
        assert_eq!(Tags::split(Tags::default().before(b"5".to_vec())), (b"5".to_vec(), Tags::default()));
        let binary = vec![MARKER, 7, b'\n', 9];
        assert_eq!(Tags::split(Tags::default().before(binary.clone())), (binary, Tags::default()));
        assert_eq!(tags.with(&Tags::parse("c")).text(), "a,b,c");
    }
}
