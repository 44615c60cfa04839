//! Logging in to servers: OAuth as a client. A person logs in once with a browser (`LogIns::begin`), or the proxy logs in
//! as itself. From then on, the transports of `mcp-client` ask [`proxy_model::Credentials`] for the header to send.
//!
//! What is used of the crates `oauth2` and rmcp, and why not more, is in docs/internals/dependencies.md.

mod discovery;
mod error;
mod exchange;
mod failures;
mod log_in;
mod log_ins;
mod machine;
mod person;
mod registration;
mod report;
mod scopes;
mod sign_in;
mod sign_in_issuers;
mod signed;
mod storage;
mod subject;
mod terms;
mod token_exchange;
#[cfg(test)]
mod tests;
mod unix_time;
mod unused;

pub use discovery::{Challenge, Probe};
pub use error::LogInError;
pub use log_in::{LogInRequest, ParkedLogIn, PendingLogIn};
pub use log_ins::LogIns;
pub use report::{ClientKind, LogInDescription, LogInKind, LogInReport, LogInState, LogOutReport};
pub use sign_in::{ParkedSignIn, SignInRequest};
pub use sign_in_issuers::SignInPlace;
pub use signed::IdentityKey;
pub use storage::CredentialStorage;
pub(crate) use terms::bearer;
pub use token_exchange::SubjectTokens;
pub use unused::{LeftLogIns, UncertainLogIn, UnusedLogIn, WhyUnused};
