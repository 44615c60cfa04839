//! The language that scripts speak: one file per family of built-ins, one list of them all in [`globals`]. Built-ins
//! never act on a session: at the top level they write into a [`Plan`], in a handler they act through the host.

mod attempt;
mod backend;
mod base64;
mod bind;
mod cached;
mod code_branch;
mod code_line;
mod code_tools;
mod config;
mod digest;
pub mod document;
mod elicit;
mod fuzzy;
mod fuzzy_score;
mod globals;
mod handler;
mod hook;
mod in_front;
mod instructions;
mod json;
mod store_access;
mod kinds;
mod log;
mod math;
mod metadata;
mod metadata_fields;
mod metadata_make;
mod names;
mod parallel;
mod passthrough;
mod plan;
pub mod presets;
mod publish;
mod publish_checks;
mod rate_limits;
mod redact;
mod regular;
mod results;
mod run;
mod run_script;
mod search_call;
mod search_handle;
mod search_index;
mod state;
mod time;
mod tokens;
mod url;
mod visitor;
mod world;

pub use config::Settings;
pub use globals::{common, pure, session, session_builder};
pub use hook::Hook;
pub use names::{MAX_NAME, is_plain_name};
pub use plan::{Handler, Plan, Published};
pub use regular::glob_fits;
pub use run::{run_session_script, world};
pub use store_access::holder_of;
pub use time::members as time_members;

#[cfg(test)]
mod tests;
