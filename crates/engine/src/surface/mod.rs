//! The surface: everything that one run of the session script publishes, immutable, with its lists ready to send.

mod apps;
mod build;
mod definitions;
mod dialects;
mod list_digests;
mod listing;
mod mirror;
mod published_surface;
mod history;
mod per_row;
mod permitted;
mod published_item;
mod logged_warnings;
mod schema_faults;
mod run_data;
mod server_items;
mod shared_text;
mod skipped;
mod updates;
mod version;

pub use build::{BuildError, BuildInputs, ScriptSource};
pub use dialects::LoweredCount;
pub use history::{Became, ItemHistory, MemberEdit, histories};
pub use list_digests::ListDigests;
pub use listing::Page;
pub use published_item::PublishedItem;
pub use published_surface::Surface;
pub use run_data::RunData;
pub use server_items::NamedItem;
pub use updates::{NoUpdates, UpdateSource};
