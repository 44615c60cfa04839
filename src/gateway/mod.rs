//! A config into a running proxy: starts everything, watches, and rebuilds the surface whenever something changed.

mod apply;
mod fleet;
mod freshness;
mod local;
mod news;
mod offline;
mod prepare;
mod rebuild;
mod recipe;
mod reload;
mod routes;
mod servers;
mod start;
mod status;
mod surfaces;
mod waits;

pub use offline::Offline;
pub use rebuild::Current;
pub use recipe::recipe;
pub use reload::Reread;
pub use start::{Gateway, Options};
pub use surfaces::View;
