//! Token exchange (RFC 8693): each caller's token is exchanged for a token for the server. A caller's token is sent only to the
//! token endpoints of servers whose `subjectIssuer` is its issuer. Tokens are kept in memory only.

mod credentials;
mod exchanged_tokens;
mod request;
mod server_exchange;
mod subject_tokens;

pub(super) use server_exchange::{CallerExchange, ServerExchange};
pub use subject_tokens::SubjectTokens;
