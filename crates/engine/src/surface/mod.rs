//! The surface: everything that one run of the session script publishes, immutable, with its lists ready to send.

mod apps;
mod build;
mod definitions;
mod dialects;
mod list_digests;
mod listing;
mod mirror;
mod narrowed_listings;
mod published_surface;
mod history;
mod labels;
mod per_row;
mod permitted;
mod published_item;
mod published_names;
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
pub use labels::ItemLabels;
pub use list_digests::ListDigests;
pub use listing::Page;
pub use narrowed_listings::Narrowing;
pub(crate) use permitted::tool_item;
pub use published_item::PublishedItem;
pub use published_surface::Surface;
pub use run_data::RunData;
pub use server_items::NamedItem;
pub use updates::{NoUpdates, UpdateSource};
