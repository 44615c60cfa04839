//! A config into a running proxy: starts everything, watches, and rebuilds the surface whenever something changed.

mod rebuild;
mod recipe;
mod start;

pub use rebuild::Current;
pub use recipe::recipe;
pub use start::{Gateway, Options};
