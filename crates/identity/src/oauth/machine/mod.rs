//! The proxy logs in as itself, or a company vouches for its user: no person is needed, and tokens are kept in memory only.

mod client_credentials;
mod credentials;
mod enterprise;
mod token;

pub(super) use credentials::MachineCredentials;
