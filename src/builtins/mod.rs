//! The built-in functions of Starlark scripts, grouped by what they may do; [`globals`] lists them all.
//!
//! At the top level of a session script, built-ins only record what the script wants in a [`Plan`]. Inside a handler,
//! they act through the handler's [`Host`](crate::script::Host). Neither changes a client's session directly.

mod backends;
mod code_mode;
pub mod document;
mod effects;
mod globals;
mod metadata;
pub mod presets;
mod publish;
mod pure;
mod run;
mod search;
mod session;

pub use effects::elicit::UNAVAILABLE;
pub use effects::roots::client_roots;
pub use globals::{common, pure, session, session_builder};
pub use metadata::ArgumentChecks;
pub use metadata::names::{MAX_NAME, is_plain_name};
pub use publish::carrier::Carrier;
pub use publish::completion::{Completers, check_complete, completable_names, unknown_argument};
pub use publish::plan::{Handler, Plan, Published};
pub use publish::provenance::{DefinitionEdit, SkippedItem};
pub use publish::refresh::refresh_interval;
pub use pure::redact::{redacted_json, redacted_text};
pub use pure::regex::glob_matches;
pub use pure::time::members as time_members;
pub use run::{SessionScriptError, run_session_script, world};
pub use session::admission::Admission;
pub use session::hook::Hook;
pub use session::other_hook::OtherHook;
pub use session::settings::Settings;

#[cfg(test)]
mod tests;
