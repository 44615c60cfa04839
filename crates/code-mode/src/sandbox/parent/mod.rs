//! The proxy's side of the sandbox: starts scripts, forwards their requests, and ends their workers.

mod account;
mod exit_reason;
mod job;
mod mailbox;
mod messages;
mod permits;
mod reader;
mod result;
mod run;
mod run_counts;
mod tools;
mod workers;

pub use exit_reason::ExitReason;
pub use mailbox::ScriptEvent;
pub use messages::{WorkerMessage, WorkerMessages};
pub use run::ScriptRun;
pub use tools::{found_tool, no_such_tool};
pub use workers::Workers;
