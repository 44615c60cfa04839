//! What an authorization server is like, and where it lies.

/// How clients register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    Public,
    Basic,
    Post,
    /// Confidential by name, with `"client_secret": ""`.
    EmptySecret,
    /// There is an endpoint, and it refuses.
    Refused,
    /// There is no endpoint.
    Absent,
}

/// Where the metadata are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataPlace {
    /// RFC 8414, with the issuer's path behind the well-known one.
    OAuth,
    /// OpenID Connect, with the issuer's path behind the well-known one.
    OpenIdInserted,
    /// OpenID Connect as it was before, with the issuer's path first.
    OpenIdAppended,
    Absent,
}

/// What the authorization endpoint sends the browser back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    Code,
    /// The person said no; the text must not be shown unless the issuer is right.
    Denied,
    NoCode,
    WrongState,
    NoState,
    WrongIssuer,
    DeniedByWrongIssuer,
    NoIssuer,
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// Behind the origin in the issuer, such as `/tenant1`.
    pub issuer_path: &'static str,
    pub place: MetadataPlace,
    /// Another `issuer` in the metadata than the true one.
    pub claimed_issuer: Option<String>,
    /// Whether the metadata declare PKCE.
    pub declares_pkce: bool,
    pub declares_issuer_parameter: bool,
    pub registration: Registration,
    /// `client_secret_expires_at` of registrations, in seconds since 1970; 0 for never.
    pub secret_expires_at: u64,
    /// Whether clients may be the URL of a document.
    pub client_documents: bool,
    pub scopes_supported: Option<Vec<&'static str>>,
    /// Another authorization endpoint, such as one that is a script.
    pub authorization_endpoint: Option<String>,
    pub approval: Approval,
    /// `expires_in` of access tokens, in seconds.
    pub lifetime: Option<u64>,
    pub gives_refresh_tokens: bool,
    /// Whether a refresh gives another refresh token; otherwise the answer has none, and the old one stays good.
    pub rotates: bool,
    /// Only these of the scopes are granted.
    pub grants_only: Option<Vec<&'static str>>,
    pub revocation: bool,
    /// The answer of the first hop of the enterprise flow.
    pub issued_token_type: &'static str,
    pub exchanged_token_type: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuer_path: "",
            place: MetadataPlace::OAuth,
            claimed_issuer: None,
            declares_pkce: true,
            declares_issuer_parameter: true,
            registration: Registration::Public,
            secret_expires_at: 0,
            client_documents: false,
            scopes_supported: None,
            authorization_endpoint: None,
            approval: Approval::Code,
            lifetime: Some(3600),
            gives_refresh_tokens: true,
            rotates: true,
            grants_only: None,
            revocation: true,
            issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
            exchanged_token_type: "N_A",
        }
    }
}
