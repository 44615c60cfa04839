//! What is said about log-ins: to the person who logs in or out, and in `proxy login --list`. Never a secret.

pub(super) mod describe;

use std::time::SystemTime;

/// The outcome of a log-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInReport {
    pub issuer: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// What was asked for and not granted.
    pub denied_scopes: Vec<String>,
    pub expires_at: Option<SystemTime>,
    /// Whether it is renewed without a person.
    pub refreshable: bool,
}

/// The outcome of a log-out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOutReport {
    /// Whether there was something to log out from.
    pub was_logged_in: bool,
    /// What was revoked at the authorization server: `refresh token`, `access token`.
    pub revoked: Vec<&'static str>,
    /// What could not be revoked, and why.
    pub problems: Vec<String>,
    /// Whether the registration of the client was deleted too.
    pub forgot_client: bool,
}

/// How the proxy logs in to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogInKind {
    /// The config does not say, and nobody has logged in.
    Undeclared,
    OAuth,
    ClientCredentials,
    Enterprise,
    TokenExchange,
    Signed,
}

impl LogInKind {
    /// The value of `auth.type`; for [`LogInKind::Undeclared`] the one that a log-in would have.
    pub fn as_str(self) -> &'static str {
        match self {
            LogInKind::Undeclared | LogInKind::OAuth => "oauth",
            LogInKind::ClientCredentials => "clientCredentials",
            LogInKind::Enterprise => "enterprise",
            LogInKind::TokenExchange => "tokenExchange",
            LogInKind::Signed => "signed",
        }
    }
}

/// Where the client ID comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientKind {
    /// From the config.
    Configured,
    /// It is the URL of a document.
    Document,
    /// The proxy has registered itself.
    Registered,
}

impl ClientKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ClientKind::Configured => "configured",
            ClientKind::Document => "document",
            ClientKind::Registered => "registered",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogInState {
    /// Nobody needs to log in, as far as is known.
    NotNeeded,
    LoggedIn,
    /// A person has to log in.
    LogInNeeded,
}

/// A line of `proxy login --list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInDescription {
    pub kind: LogInKind,
    pub state: LogInState,
    pub issuer: Option<String>,
    pub client: Option<ClientKind>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// What the server has asked for since then.
    pub wanted_scopes: Vec<String>,
    pub expires_at: Option<SystemTime>,
    pub refreshable: bool,
    pub last_error: Option<String>,
    /// The command to run, if one helps.
    pub what_to_do: Option<String>,
}
