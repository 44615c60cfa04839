//! Runs models' scripts, each in its own process. The process is this binary in a mode in which it can only compute and
//! talk to the proxy over one socket.
//!
//! - `protocol`: the messages between proxy and worker, and the limits that both sides know.
//! - `parent`: the proxy's side. It trusts nothing that a worker sends.
//! - `worker`: the sandboxed process.
//! - `zygote`: the process that workers are forked from.
//! - `reader`: a process that runs a command of the proxy over scripts of models.
//! - `jail_state`: what the kernel enforces on them.

mod jail_state;
mod parent;
mod protocol;
mod reader;
mod worker;
mod zygote;

pub use jail_state::{HINT as JAIL_HINT, JailState, jail_state, wait_for_jail_state};
pub use parent::{
    ExitReason, ScriptEvent, ScriptRun, WorkerMessage, WorkerMessages, Workers, found_tool, no_such_tool,
};
pub use protocol::{ARGUMENT, MAX_SOURCE, ScriptJob, ScriptResult, WorkerExit, WorkerRequest};
pub use reader::{ARGUMENT as READER_ARGUMENT, ReaderLimits, arguments as reader_arguments, enter as enter_reader};
pub use zygote::run as run_zygote;
