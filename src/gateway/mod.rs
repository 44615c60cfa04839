//! A config into a running proxy: starts everything, watches, and rebuilds the surface whenever something changed.

mod freshness;
mod offline;
mod rebuild;
mod recipe;
mod routes;
mod start;

pub use offline::Offline;
pub use rebuild::Current;
pub use recipe::recipe;
pub use start::{Gateway, Options};
