//! The run of a script for one request: what it is given, what it may reach, and what becomes of its result.

pub(super) mod authorization;
pub(super) mod host;
pub(super) mod observer;
pub(super) mod peer;
pub(super) mod progress;
pub(super) mod request_state;
pub(super) mod run;
