//! The ways to log in to a server.

use std::path::PathBuf;

use proxy_model::Secret;

/// How the proxy logs in to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthConfig {
    /// A person logs in with a browser: once for everybody who uses the proxy, or each for themselves.
    OAuth(OAuthConfig),
    /// The proxy logs in as itself.
    ClientCredentials(ClientCredentialsConfig),
    /// The identity provider of a company vouches for the local user.
    Enterprise(EnterpriseConfig),
    /// Each caller's token is exchanged for a token for the server (RFC 8693).
    TokenExchange(TokenExchangeConfig),
    /// The proxy itself says who each caller is.
    Signed(SignedConfig),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OAuthConfig {
    /// The authorization server; `None` for the one that the server names. Always set beside `endpoints`.
    pub issuer: Option<String>,
    /// Where it is, if it publishes no metadata.
    pub endpoints: Option<OAuthEndpoints>,
    /// The client that was registered by hand.
    pub client: Option<RegisteredClient>,
    /// The URL of a client ID metadata document.
    pub client_metadata_url: Option<String>,
    /// Whether the proxy may register itself.
    pub register: bool,
    /// The scopes to ask for, instead of those that the server names.
    pub scopes: Vec<String>,
    pub resource: ResourceChoice,
    /// Whether an authorization server must declare PKCE.
    pub require_pkce_metadata: bool,
    /// The port of the redirect URI on loopback; 0 for any.
    pub redirect_port: u16,
    /// Whether all callers may act as the account that logged in.
    pub shared: bool,
    /// How people log in, if everybody has an account of their own (`per: person`).
    pub personal: Option<PersonalAccounts>,
}

/// Accounts of people at a server, each used for its person alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonalAccounts {
    /// What there is behind the log-in, for models; empty if the config does not say.
    pub about: String,
    /// `serve.publicUrl`, below which people log in with a browser; `None` if nobody can sign in there.
    pub public_url: Option<String>,
    /// The issuers whose people can sign in there.
    pub signing_in: Vec<String>,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        OAuthConfig {
            issuer: None,
            endpoints: None,
            client: None,
            client_metadata_url: None,
            register: true,
            scopes: Vec::new(),
            resource: ResourceChoice::Auto,
            require_pkce_metadata: true,
            redirect_port: 0,
            shared: false,
            personal: None,
        }
    }
}

/// The endpoints of an authorization server, in place of its metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuthEndpoints {
    /// Where people log in; `None` if the proxy logs in as itself.
    pub authorization: Option<String>,
    pub token: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredClient {
    pub id: String,
    pub secret: Option<Secret>,
}

/// The `resource` of authorization and token requests.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceChoice {
    /// As the server's metadata name it.
    Auto,
    Uri(String),
    /// Some authorization servers refuse requests that have one.
    None,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClientCredentialsConfig {
    /// Always set beside `endpoints`.
    pub issuer: Option<String>,
    /// Where the authorization server is, if it publishes no metadata.
    pub endpoints: Option<OAuthEndpoints>,
    pub client_id: String,
    pub proof: ClientProof,
    pub scopes: Vec<String>,
    pub resource: ResourceChoice,
}

/// How a client proves who it is.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientProof {
    Secret(Secret),
    /// It signs an assertion.
    PrivateKey {
        file: PathBuf,
        key_id: Option<String>,
        algorithm: SigningAlgorithm,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Es256,
    Es384,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EnterpriseConfig {
    pub id_token: IdToken,
    pub idp_token_url: String,
    pub idp_client: RegisteredClient,
    pub issuer: Option<String>,
    pub client: RegisteredClient,
    pub scopes: Vec<String>,
    pub resource: ResourceChoice,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IdToken {
    Text(Secret),
    /// Read at each use: other programs renew it.
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq)]
pub struct TokenExchangeConfig {
    pub token_url: String,
    pub client: RegisteredClient,
    pub audience: Option<String>,
    pub resource: ResourceChoice,
    pub scopes: Vec<String>,
    pub subject_token_type: SubjectTokenType,
    /// Whose tokens are exchanged. Always set in a config without errors.
    pub subject_issuer: Option<String>,
}

/// How the proxy signs who its callers are. Always complete in a config without errors.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedConfig {
    /// `serve.identityKey`.
    pub key: Secret,
    /// `serve.publicUrl`.
    pub issuer: String,
}

/// What the token of a caller is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectTokenType {
    AccessToken,
    IdToken,
    Jwt,
}

impl SubjectTokenType {
    /// The name of the type (RFC 8693, 3).
    pub fn urn(self) -> &'static str {
        match self {
            SubjectTokenType::AccessToken => "urn:ietf:params:oauth:token-type:access_token",
            SubjectTokenType::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            SubjectTokenType::Jwt => "urn:ietf:params:oauth:token-type:jwt",
        }
    }
}
