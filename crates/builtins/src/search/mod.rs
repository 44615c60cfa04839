//! `search_index()`: tools that are found by what they do and called by name.

pub(super) mod call;
pub(crate) mod compact;
pub(super) mod explanation;
pub(super) mod handle;
pub(super) mod index;
