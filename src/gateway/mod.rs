//! A config into a running proxy: starts everything, watches, and rebuilds the surface whenever something changed.

mod apply;
mod fleet;
mod freshness;
mod offline;
mod prepare;
mod rebuild;
mod recipe;
mod routes;
mod servers;
mod start;
mod surfaces;
mod waits;

pub use offline::Offline;
pub use rebuild::Current;
pub use recipe::recipe;
pub use start::{Gateway, Options};
pub use surfaces::View;
