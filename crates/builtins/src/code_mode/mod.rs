//! Code mode: `run_script()` runs a script written by a model in a sandboxed process and serves its tool calls.

pub(super) mod branch;
pub(super) mod run_script;
pub(super) mod serve;
pub(super) mod tools;
