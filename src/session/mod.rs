//! A script run into a surface, and calls dispatched through it.

mod apps;
mod build;
mod call;
mod definitions;
mod dispatch;
mod host;
mod listing;
mod mirror;
mod surface;
mod surroundings;
mod through;
mod updates;

pub use build::{BuildError, Origin, Recipe};
pub use call::{CallFault, Caller, Calls};
pub use dispatch::Dispatcher;
pub use listing::Page;
pub use surface::{Entry, Surface};
pub use surroundings::Surroundings;
pub use updates::{NoUpdates, UpdateSource};
