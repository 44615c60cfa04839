//! The commands that list servers and items.

mod evaluation;
pub(super) mod find;
pub(super) mod list_items;
pub(super) mod list_servers;
pub(super) mod types;
