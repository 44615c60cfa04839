//! The lock: what an operator approved of the servers' lists, and how it compares with what they list now. Everything here
//! is pure: the state of an item depends on the lock and the live list only.

mod arguments;
mod catalog;
mod compare;
mod file;
mod ignored_text;
mod item_lock;
mod names;
mod pretty;
mod profiles;
mod read;
mod review;
mod rules;
#[cfg(test)]
pub(crate) mod testing;
mod view_lock;
mod wider;
mod write;

pub use compare::{Comparison, compare};
pub use file::{LockFile, LockedDefinition, LockedInfo, LockedItem, LockedServer};
pub use ignored_text::IgnoredText;
pub use item_lock::{ItemLock, ItemState};
pub use names::{item_member, item_noun};
pub use pretty::pretty;
pub use profiles::{chosen, profile_name};
pub use review::{InfoReview, ItemReview, ReviewState, SeenLists, ServerReview};
pub use rules::{Lock, LockMode, LockRules};
pub use view_lock::{InfoChange, ViewLock};
