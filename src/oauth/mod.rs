//! Logging in at servers: OAuth as a client. A person logs in once with a browser (`LogIns::begin`), or the proxy logs in
//! as itself, and from then on the transports of `backend` ask [`crate::model::Credentials`] what to show.
//!
//! The protocol is that of rmcp's `auth`. What its version does otherwise than MCP demands is done here, before or after
//! the call, and listed in docs/architecture.md.

mod challenge;
mod error;
mod log_ins;
mod probe;
mod report;
mod storage;

pub use challenge::Challenge;
pub use error::LogInError;
pub use log_ins::{LogInRequest, LogIns, PendingLogIn};
pub use probe::Probe;
pub use report::{ClientKind, LogInDescription, LogInKind, LogInReport, LogInState, LogOutReport};
pub use storage::CredentialStorage;
