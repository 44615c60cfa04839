//! The fork server for workers. The zygote is a process that has loaded everything a worker needs and waits; a fork of it
//! is ready in a fraction of the time that a new process takes.
//!
//! - `server`: the zygote process itself. It has one thread, and nothing that a script sends ever reaches it.
//! - `client`: the proxy's handle to it.
//! - `process`: the proxy's handle to one worker.
//! - `messages`: what client and server send to each other.

mod client;
mod messages;
mod process;
mod server;

pub(super) use client::{StartedWorker, Zygote};
pub(super) use process::{WorkerProcess, is_connected};
pub use server::run;
