//! A script run into a surface, and calls dispatched through it.

mod build;
mod call;
mod dispatch;
mod host;
mod surface;
mod through;

pub use build::{BuildError, Recipe};
pub use call::{CallFault, Caller, Calls};
pub use dispatch::Dispatcher;
pub use surface::{Entry, Surface};
