//! The protocol between proxy and worker: messages, framing, exit codes and limits.

mod exit_code;
mod frame;
mod limits;
mod message;

pub use exit_code::WorkerExit;
pub(super) use frame::{Received, receive, receive_blocking, send, send_blocking};
pub(super) use limits::{ADDRESS_SPACE, MAX_BRANCHES};
pub use limits::{ARGUMENT, MAX_SOURCE};
pub(super) use message::{ScriptFailure, ToParent, ToWorker, ToolFunction};
pub use message::{ScriptJob, ScriptResult, WorkerRequest};
