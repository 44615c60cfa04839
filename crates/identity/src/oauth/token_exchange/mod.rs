//! The token of each caller is exchanged for one of the server (RFC 8693). A caller's token is shown to the token endpoint of
//! servers that are for its issuer, and to nobody else. All of it is in memory only.

mod credentials;
mod exchanged_tokens;
mod request;
mod server_exchange;
mod subject_tokens;

pub(super) use server_exchange::{CallerExchange, ServerExchange};
pub use subject_tokens::SubjectTokens;
