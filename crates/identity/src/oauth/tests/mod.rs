//! Log-ins against a small authorization server, which is also the server that wants them.

mod changed;
pub(super) mod fake;
mod forgotten_client;
mod log_in;
mod log_out;
mod machine;
mod refused;
mod renewal;
