//! A script run into a surface, and calls dispatched through it.

mod apps;
mod asking;
mod build;
mod call;
mod definitions;
mod dispatch;
mod host;
mod job;
mod listing;
mod mirror;
mod passing;
mod surface;
mod surroundings;
mod tally;
mod through;
mod updates;
mod version;

pub use asking::{PATIENCE, WaitingRoom, as_request, take_answer};
pub use build::{BuildError, Origin, Recipe};
pub use call::{CallFault, Caller, Calls, POLICY_CHANGED, PolicyNow};
pub use dispatch::Dispatcher;
pub use job::failed;
pub use listing::Page;
pub use surface::{Entry, Surface};
pub use surroundings::Surroundings;
pub use tally::{Counts, Tally};
pub use updates::{NoUpdates, UpdateSource};
