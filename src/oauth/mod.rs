//! Logging in at servers: OAuth as a client. A person logs in once with a browser (`LogIns::begin`), or the proxy logs in
//! as itself, and from then on the transports of `backend` ask [`crate::model::Credentials`] what to show.
//!
//! The protocol is that of rmcp's `auth`. What its version does otherwise than MCP demands is done here, before or after
//! the call, and listed in docs/architecture.md.

mod authorization_server;
mod callback;
mod challenge;
mod credentials;
mod describe;
mod discovery;
mod error;
mod exchange;
mod follower;
mod log_ins;
mod log_out;
mod machine;
mod pending;
mod person;
mod probe;
mod record;
mod registration;
mod renewal;
mod report;
mod scopes;
mod storage;
mod subject;
#[cfg(test)]
mod tests;

pub use challenge::Challenge;
pub use error::LogInError;
pub use log_ins::LogIns;
pub use pending::{LogInRequest, PendingLogIn};
pub use probe::Probe;
pub use report::{ClientKind, LogInDescription, LogInKind, LogInReport, LogInState, LogOutReport};
pub use storage::CredentialStorage;
