//! Runs models' scripts, each in its own process. The process is this binary in a mode in which it can only compute and
//! talk to the proxy over one socket.
//!
//! - `protocol`: the messages between proxy and worker, and the limits that both sides know.
//! - `parent`: the proxy's side. It trusts nothing that a worker sends.
//! - `worker`: the sandboxed process.
//! - `zygote`: the process that workers are forked from.
//! - `jail_state`: what the kernel enforces on them.

mod jail_state;
mod parent;
mod protocol;
mod worker;
mod zygote;

pub use jail_state::{HINT as JAIL_HINT, JailState, jail_state, wait_for_jail_state};
pub use parent::{
    ExitReason, ScriptEvent, ScriptRun, WorkerMessage, WorkerMessages, Workers, found_tool, no_such_tool,
};
pub use protocol::{ARGUMENT, MAX_SOURCE, ScriptJob, ScriptResult, WorkerRequest};
pub use zygote::run as run_zygote;
