//! The digests of a surface's lists. They tell whether lists differ, and are kept where the surface itself is not.

use sha2::{Digest, Sha256};

use proxy_json::hex;
use proxy_model::ItemKind;

/// A digest for each kind of items, in the order of [`ItemKind::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListDigests([[u8; 32]; ItemKind::ALL.len()]);

impl ListDigests {
    /// The digests of lists, and of what else decides how clients see them.
    pub(crate) fn of<'a>(list: impl Fn(ItemKind) -> &'a str, forms: impl Fn(ItemKind) -> [&'a str; 2]) -> Self {
        ListDigests(ItemKind::ALL.map(|kind| {
            let digest = Sha256::new_with_prefix(list(kind));
            forms(kind).iter().fold(digest, |digest, form| digest.chain_update(form)).finalize().into()
        }))
    }

    /// One digest of all lists, in hexadecimal digits.
    pub fn text(&self) -> String {
        let digest = self.0.iter().fold(Sha256::new(), |digest, list| digest.chain_update(list));
        hex(&digest.finalize())
    }

    /// Takes over the digest of one list.
    pub fn take(&mut self, kind: ItemKind, from: &ListDigests) {
        for (at, of) in ItemKind::ALL.into_iter().enumerate() {
            if of == kind {
                self.0[at] = from.0[at];
            }
        }
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
        let of = |prompts, form| {
            let list = |kind| if kind == ItemKind::Prompt { prompts } else { "[]" };
            ListDigests::of(list, |kind| if kind == ItemKind::Tool { [form, ""] } else { ["", ""] })
        };
        assert!(of("[1]", "").differences(&of("[1]", "")).is_empty());
        assert_eq!(of("[1]", "").differences(&of("[2]", "")), [ItemKind::Prompt]);
        assert_eq!(of("[1]", "a").differences(&of("[1]", "b")), [ItemKind::Tool]);
        let mut seen = of("[1]", "a");
        seen.take(ItemKind::Tool, &of("[2]", "b"));
        assert_eq!(seen.differences(&of("[2]", "b")), [ItemKind::Prompt]);
    }
}
