//! Turns a config into a running proxy: starts the servers, loads the local tools, watches the files, and rebuilds the
//! surfaces after every change.

mod arrival_order;
mod backend_set;
mod catalog;
mod following;
mod freshness;
mod installation;
mod offline;
mod options;
mod preparation;
mod profile_status;
mod readiness;
mod rebuild;
mod reload;
mod reload_status;
mod restart;
mod script_versions;
mod start;
mod status;
mod surfaces;
mod telemetry;
mod views;

pub use following::{CurrentSurface, NewFollower};
pub use installation::script_source;
pub use offline::Offline;
pub use options::{Endpoint, GatewayOptions};
pub use rebuild::SharedSurface;
pub use reload::Reread;
pub use script_versions::ScriptVersions;
pub use start::{Gateway, STOPPED};
pub use surfaces::{SurfaceHandle, View};
pub use telemetry::{DefinitionTokens, Gauges, ProfileGauges, ServerGauges};

#[cfg(test)]
mod tests;
