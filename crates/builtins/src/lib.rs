//! The built-in functions for Starlark scripts, grouped by permitted effects; [`globals`] lists them all. They know
//! tools, requests and the store. They never act on a client's session: at a session script's top level they only
//! record the script's decisions in a [`Plan`], and in a handler they act through its [`Host`](proxy_script::Host).

mod admission;
mod backends;
mod code_mode;
pub mod document;
mod effects;
mod globals;
mod kinds;
mod metadata;
pub mod presets;
mod publish;
mod pure;
mod run;
mod search;
mod session;

pub use admission::Admission;
pub use effects::elicit::UNAVAILABLE;
pub use effects::roots::client_roots;
pub use globals::{common, pure, session, session_builder};
pub use metadata::ArgumentChecks;
pub use metadata::carrier::{Carrier, RenderedCarrier};
pub use metadata::names::{MAX_NAME, is_plain_name};
pub use publish::completion::{Completers, check_complete, completable_names, unknown_argument};
pub use publish::plan::{Handler, Plan, Published};
pub use publish::refresh::refresh_interval;
pub use pure::redact::{redacted_json, redacted_text};
pub use pure::regex::glob_matches;
pub use pure::time::members as time_members;
pub use run::{SessionScriptError, run_session_script, world};
pub use search::compact::{CompactTool, compact};
pub use session::hook::Hook;
pub use session::other_hook::OtherHook;
pub use session::provenance::{DefinitionEdit, SkippedItem};
pub use session::settings::Settings;

#[cfg(test)]
mod tests;
