//! Results of tools that are too large for the client: split into pages, of which the client gets the first one. The others
//! are kept for a while and read with `read_result`, or as the resource `result://ID`. Start at `paged_results.rs`.

mod client_limits;
mod kept_in_memory;
mod kept_result;
mod notes;
mod own_items;
mod paged_results;
mod pages;
mod path;
mod payload;
mod read_request;
mod sealed_results;
mod settings;
mod size;
mod wire_form;

pub use kept_result::ToolBehind;
pub use own_items::{OwnItem, is_own_name, is_template, listed_template, listed_tool, names_result};
pub use paged_results::{FittedResult, LargeResult, PagedResults};
pub use settings::{ClientLimits, PageLimit, ResultSettings};
pub use size::TextSize;
pub use wire_form::Addressee;

pub(crate) use own_items::tool_name;
pub(crate) use paged_results::FindError;
pub(crate) use read_request::ReadRequest;

#[cfg(test)]
mod tests;
