//! `mcpServers.NAME.auth`: how the proxy logs in to a server.

mod account;
mod own_keys;
mod read;
mod subject_issuer;
mod types;

pub(super) use read::read_auth;
pub(crate) use subject_issuer::resolve_subject_issuers;
pub use types::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, OAuthConfig, RegisteredClient,
    ResourceChoice, SigningAlgorithm, SubjectTokenType, TokenExchangeConfig,
};
