//! `mcpServers.NAME.auth`: how the proxy logs in at a server.

mod account;
mod own_keys;
mod read;
mod types;

pub(super) use read::read_auth;
pub use types::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, OAuthConfig, RegisteredClient,
    ResourceChoice, SigningAlgorithm,
};
