//! `mcpServers.NAME.auth`: how the proxy logs in to a server.

mod account;
mod endpoints;
mod naming;
mod own_keys;
mod personal;
mod read;
mod signed;
mod subject_issuer;
mod types;

pub use naming::{Naming, namings, with_same_url};
pub use personal::LogInAdvice;
pub(crate) use personal::resolve_personal_accounts;
pub(super) use read::read_auth;
pub(crate) use signed::resolve_signed;
pub(crate) use subject_issuer::resolve_subject_issuers;
pub use types::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, OAuthConfig, OAuthEndpoints,
    PersonalAccounts, RegisteredClient, ResourceChoice, SignedConfig, SigningAlgorithm, SubjectTokenType,
    TokenExchangeConfig,
};
