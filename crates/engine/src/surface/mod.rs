//! The surface: everything that one run of the session script publishes, immutable, with its lists ready to send.

mod apps;
mod build;
mod definitions;
mod list_digests;
mod listing;
mod mirror;
mod contents;
mod history;
mod permitted;
mod published_item;
mod logged_warnings;
mod schema_faults;
mod script_run;
mod server_items;
mod shared_text;
mod skipped;
mod updates;
mod version;

pub use build::{BuildError, Origin, ScriptSource};
pub use contents::Surface;
pub use history::{Became, ItemHistory, MemberEdit, histories};
pub use list_digests::ListDigests;
pub use listing::Page;
pub use published_item::PublishedItem;
pub use script_run::ScriptRun;
pub use server_items::NamedItem;
pub use updates::{NoUpdates, UpdateSource};
