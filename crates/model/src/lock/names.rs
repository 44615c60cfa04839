//! The members of a locked server that hold its items.

use crate::ItemKind;

/// The kinds of item in a lock file, in the order of their members.
pub(super) const KINDS: [ItemKind; 4] =
    [ItemKind::Tool, ItemKind::Prompt, ItemKind::ResourceTemplate, ItemKind::Resource];

/// The member of a locked server that holds the items of a kind.
pub fn item_member(kind: ItemKind) -> &'static str {
    kind.list_member()
}

/// The kind and name of an item in messages: ``tool `search` ``.
pub fn item_noun(kind: ItemKind, key: &str) -> String {
    format!("{} `{}`", kind.noun(), proxy_base::foreign_text::visible(key))
}
