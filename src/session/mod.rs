//! A script run into a surface, and calls dispatched through it.

mod build;
mod call;
mod dispatch;
mod host;
mod listing;
mod surface;
mod through;
mod updates;

pub use build::{BuildError, Recipe};
pub use call::{CallFault, Caller, Calls};
pub use dispatch::Dispatcher;
pub use listing::Page;
pub use surface::{Entry, Surface};
pub use updates::{NoUpdates, UpdateSource};
