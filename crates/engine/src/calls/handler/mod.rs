//! Runs a script's handler for one request: its input, the effects it can use, and the conversion of its result.

pub(super) mod authorization;
mod flow;
pub(super) mod host;
pub(super) mod observer;
pub(super) mod peer;
pub(super) mod progress;
pub(super) mod request_state;
pub(super) mod run;
