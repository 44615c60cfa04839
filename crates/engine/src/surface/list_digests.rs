//! The digests of a surface's lists. They tell whether lists differ, and are kept where the surface itself is not.

use sha2::{Digest, Sha256};

use proxy_json::hex;
use proxy_model::ItemKind;

/// A digest for each kind of items, in the order of [`ItemKind::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListDigests([[u8; 32]; ItemKind::ALL.len()]);

impl ListDigests {
    /// The digests of lists that clients get in forms which `dialects` is the digest of.
    pub(crate) fn of<'a>(dialects: &str, list: impl Fn(ItemKind) -> &'a str) -> Self {
        ListDigests(ItemKind::ALL.map(|kind| {
            let digest = Sha256::new_with_prefix(list(kind));
            // Only tools differ.
            if kind == ItemKind::Tool { digest.chain_update(dialects) } else { digest }.finalize().into()
        }))
    }

    /// One digest of all lists, in hexadecimal digits.
    pub fn text(&self) -> String {
        let digest = self.0.iter().fold(Sha256::new(), |digest, list| digest.chain_update(list));
        hex(&digest.finalize())
    }

    /// The kinds of items whose lists differ.
    pub fn differences(&self, other: &ListDigests) -> Vec<ItemKind> {
        let pairs = self.0.iter().zip(&other.0);
        let differing = ItemKind::ALL.into_iter().zip(pairs).filter(|(_, (one, other))| one != other);
        differing.map(|(kind, _)| kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_that_differ_are_named() {
        let of = |prompts| ListDigests::of("", |kind| if kind == ItemKind::Prompt { prompts } else { "[]" });
        assert!(of("[1]").differences(&of("[1]")).is_empty());
        assert_eq!(of("[1]").differences(&of("[2]")), [ItemKind::Prompt]);
        let with = |dialects| ListDigests::of(dialects, |_| "[]");
        assert_eq!(with("a").differences(&with("b")), [ItemKind::Tool]);
    }
}
