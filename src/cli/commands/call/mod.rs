//! The commands that use published items as a client would: call a tool, read a resource, get a prompt, or run a script over
//! the tools.

mod arguments;
pub(super) mod exec;
mod item;
pub(super) mod prompt;
pub(super) mod read;
mod show;
pub(super) mod tool;
