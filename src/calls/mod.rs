//! A call of a published item: from its lookup in the surface, through `on_request` and the script's handler, to the
//! one place that dispatches to a backend.

mod asking;
mod call;
mod dispatch;
mod host;
mod job;
mod request_state;
mod test_overrides;
mod stats;
mod handler_peer;

pub use asking::{PATIENCE, WaitingRoom, as_request, take_answer};
pub use call::{CallFault, Caller, Calls, POLICY_CHANGED, PolicyNow};
pub use dispatch::Dispatcher;
pub use job::failed;
pub use stats::{CallStats, Counts};
pub use test_overrides::TestOverrides;
