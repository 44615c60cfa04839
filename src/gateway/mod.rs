//! A config into a running proxy: starts everything, watches, and rebuilds the surface whenever something changed.

mod catalog;
mod apply;
mod backend_set;
mod freshness;
mod local;
mod reload_status;
mod offline;
mod prepare;
mod rebuild;
mod script_source;
mod reload;
mod routes;
mod servers;
mod start;
mod status;
mod surfaces;
mod readiness;

pub use offline::Offline;
pub use rebuild::Current;
pub use reload::Reread;
pub use script_source::script_source;
pub use start::{Gateway, Options};
pub use surfaces::SurfaceHandle;
