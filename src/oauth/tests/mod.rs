//! Log-ins against a small authorization server, which is also the server that wants them.

pub(super) mod fake;
mod log_in;
