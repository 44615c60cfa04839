//! What a config determines: servers, local tools, method routes, session script and store. A config is prepared first,
//! which finds every error in it, and then applied as a whole.

mod apply;
mod local_tools;
mod prepare;
mod routes;
mod script_source;
mod servers;

pub(super) use apply::Installation;
pub(super) use local_tools::{LocalTools, fixed_part};
pub(super) use prepare::{Prepared, read_lock, store};
pub use script_source::script_source;
pub(super) use script_source::source;
pub(super) use servers::ServerChanges;
