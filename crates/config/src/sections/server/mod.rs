//! A server of `mcpServers`: its transport, timeouts and limits.

mod auth;
mod defaults;
mod env_file;
mod identity;
mod openapi;
mod read;
mod rest;
mod secret_files;
mod settings;
mod transport;
mod written;

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use sha2::{Digest, Sha256};
use tracing::level_filters::LevelFilter;

use super::lock::LockSettings;
use crate::syntax::reader::LateValue;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_model::{MethodPattern, Secret, ServerAddress};

pub use auth::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, LogInAdvice, Naming, OAuthConfig,
    OAuthEndpoints, PersonalAccounts, RegisteredClient, ResourceChoice, SignedConfig, SigningAlgorithm,
    SubjectTokenType, TokenExchangeConfig, namings, with_same_url,
};
pub(crate) use auth::{resolve_personal_accounts, resolve_signed, resolve_subject_issuers};
pub(crate) use defaults::read_defaults;
pub(crate) use env_file::env_files;
pub(crate) use identity::{identity_of_words, written_identity};
pub use openapi::{DescriptionPlace, OpenApiConfig};
pub(crate) use read::read_servers;
pub use rest::RestSettings;
pub(crate) use secret_files::secret_files;
pub(crate) use settings::read_inherited;
pub(crate) use transport::read_header;

#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    pub transport: TransportConfig,
    /// How the proxy logs in; `None` to detect it from the server's response.
    pub auth: Option<AuthConfig>,
    pub disabled: bool,
    /// The variables of the proxy's own environment that its process gets in addition to the base environment.
    pub inherit_env: Vec<glob::Pattern>,
    /// Timeout of a request; restarted by progress notifications.
    pub timeout: Duration,
    /// Timeout of a request regardless of progress.
    pub max_timeout: Duration,
    pub start_timeout: Duration,
    /// Whether the proxy fails to start if this server does.
    pub required: bool,
    /// When it is started and stopped.
    pub rest: RestSettings,
    /// Maximum delay before a restart.
    pub max_backoff: Duration,
    pub max_message_bytes: u64,
    /// Maximum size of one list, over all its pages.
    pub max_list_bytes: u64,
    /// Maximum number of concurrent calls; additional calls queue.
    pub max_concurrent: usize,
    pub circuit_breaker: CircuitBreaker,
    pub protocol: ProtocolChoice,
    pub probe_timeout: Duration,
    /// How long the tools stay listed after the server disconnects.
    pub grace: Duration,
    /// Vendor methods that are forwarded to this server.
    pub methods: Vec<MethodPattern>,
    /// Whether every session, or every authenticated user, has its own connection.
    pub session_scoped: bool,
    /// Maximum number of these connections per user.
    pub max_per_user: usize,
    /// Whether all clients share one connection, which declares all capabilities (`capabilities: shared`).
    pub shares_capabilities: bool,
    /// Timeout for the user's answer to the server's elicitation.
    pub input_timeout: Duration,
    /// The log level for this server; `None` to use the general level.
    pub log: Option<LevelFilter>,
    /// What happens when it lists something else than what is approved.
    pub lock: LockSettings,
    /// A digest of its program or address as written in the config.
    pub identity: String,
    /// Its location in the config file; `None` for a server from the command line.
    pub place: Option<Location>,
    /// The location of its `auth`.
    pub auth_place: Option<Location>,
    /// Variables in the entry that are not set: the server cannot start without them.
    pub unset_variables: Vec<Diagnostic>,
    /// The values in the entry that come from a credential or a command.
    pub late_values: Vec<LateValue>,
    /// The keys of values that were not read: the server cannot start without them. None is read if it is disabled.
    pub unread: Vec<String>,
}

impl ServerConfig {
    /// A digest of the settings that can change what the server lists: its environment variables, or its headers and the
    /// account settings.
    pub fn environment_digest(&self) -> String {
        let transport = self.written_transport();
        let values = match transport.as_ref() {
            TransportConfig::Stdio { env, .. } => env,
            TransportConfig::Http { headers, .. } | TransportConfig::OpenApi(OpenApiConfig { headers, .. }) => headers,
        };
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
        let account = self.auth.as_ref().map(AuthConfig::account).unwrap_or_default();
        let account = if account.is_empty() { String::new() } else { format!("{account:?}") };
        proxy_json::hex(&Sha256::digest(format!("{values:?}{account}")))
    }

    /// A digest of all settings of the server. If it changes, a server that failed to start may start.
    pub fn entry_digest(&self) -> String {
        // The debug form omits secrets; `environment_digest` covers them.
        let transport = self.written_transport().into_owned();
        let settings = format!("{:?}", ServerConfig { transport, ..self.without_places() });
        proxy_json::hex(&Sha256::digest(format!("{settings}{}", self.environment_digest())))
    }

    /// Why the server cannot start: a variable is not set, or a value was not read by a command that should start nothing.
    pub fn missing_value(&self) -> Option<String> {
        let unset = self.unset_variables.first().map(|problem| problem.message.clone());
        unset.or_else(|| self.unread.first().map(|key| format!("`{key}` was not read")))
    }

    /// Whether every caller has their own connection and token (`tokenExchange`, `signed`, or `per: person`).
    pub fn is_per_person(&self) -> bool {
        matches!(self.auth, Some(AuthConfig::TokenExchange(_) | AuthConfig::Signed(_))) || self.personal().is_some()
    }

    /// The accounts of people, if everybody has their own.
    pub fn personal(&self) -> Option<&PersonalAccounts> {
        match &self.auth {
            Some(AuthConfig::OAuth(oauth)) => oauth.personal.as_ref(),
            _ => None,
        }
    }

    pub fn new(transport: TransportConfig) -> Self {
        ServerConfig {
            transport,
            auth: None,
            disabled: false,
            inherit_env: Vec::new(),
            timeout: Duration::from_secs(10 * 60),
            max_timeout: Duration::from_secs(60 * 60),
            start_timeout: Duration::from_secs(30),
            required: false,
            rest: RestSettings::default(),
            unset_variables: Vec::new(),
            late_values: Vec::new(),
            unread: Vec::new(),
            max_backoff: Duration::from_secs(30),
            max_message_bytes: 16 << 20,
            max_list_bytes: 64 << 20,
            max_concurrent: 64,
            circuit_breaker: CircuitBreaker { failures: 5, cooldown: Duration::from_secs(30) },
            protocol: ProtocolChoice::Auto,
            probe_timeout: Duration::from_secs(5),
            grace: Duration::from_secs(30),
            methods: Vec::new(),
            session_scoped: false,
            max_per_user: 16,
            shares_capabilities: false,
            input_timeout: Duration::from_secs(10 * 60),
            log: None,
            lock: LockSettings::default(),
            identity: String::new(),
            place: None,
            auth_place: None,
        }
    }

    /// Whether a reload can keep the server running because all settings are equal. Ignores the location in the file, the log
    /// level and the lock, which others apply.
    pub fn is_same_as(&self, other: &ServerConfig) -> bool {
        self.without_places() == other.without_places()
    }

    fn without_places(&self) -> Self {
        let unset = self.unset_variables.iter().map(|problem| Diagnostic { place: None, ..problem.clone() });
        ServerConfig {
            place: None,
            auth_place: None,
            log: None,
            lock: LockSettings::default(),
            identity: String::new(),
            unset_variables: unset.collect(),
            late_values: Vec::new(),
            unread: Vec::new(),
            ..self.clone()
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum TransportConfig {
    Stdio {
        /// As written; `proxy` means the running executable.
        command: String,
        args: Vec<String>,
        env: IndexMap<String, Secret>,
        cwd: Option<PathBuf>,
    },
    Http {
        url: String,
        headers: IndexMap<String, Secret>,
        /// Whether the config demands the HTTP+SSE transport of 2024-11-05, so that no other is tried.
        sse: bool,
    },
    OpenApi(OpenApiConfig),
}

impl TransportConfig {
    /// The URL of a server or an API; `None` for a process, and for an API whose description says where it is.
    pub fn url(&self) -> Option<&str> {
        match self {
            TransportConfig::Stdio { .. } => None,
            TransportConfig::Http { url, .. } => Some(url),
            TransportConfig::OpenApi(api) => api.url.as_deref(),
        }
    }

    /// The headers of each request; `None` for a process.
    pub fn headers(&self) -> Option<&IndexMap<String, Secret>> {
        match self {
            TransportConfig::Stdio { .. } => None,
            TransportConfig::Http { headers, .. } => Some(headers),
            TransportConfig::OpenApi(api) => Some(&api.headers),
        }
    }

    /// The host of the URL; `None` for a process.
    pub fn address(&self) -> Option<ServerAddress> {
        let url = url::Url::parse(self.url()?).ok()?;
        Some(ServerAddress { host: url.host_str()?.to_owned(), port: url.port_or_known_default() })
    }
}

/// When calls to a failing server are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitBreaker {
    /// Consecutive failures that open the breaker; 0 disables it.
    pub failures: usize,
    pub cooldown: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Negotiate the version with the server.
    Auto,
    Pinned(String),
}

/// All protocol versions that a server can be pinned to, oldest first.
pub const PROTOCOL_VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The protocol version without sessions.
pub(crate) const STATELESS_VERSION: &str = PROTOCOL_VERSIONS[4];

pub(crate) const MAX_NAME_LENGTH: usize = 64;

/// The error in the name of a server, if there is one.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("the name of a server must not be empty".to_owned())
    } else if name.chars().count() > MAX_NAME_LENGTH {
        Some(format!("the name of a server must have at most {MAX_NAME_LENGTH} characters"))
    } else if name.contains('/') || name.chars().any(char::is_control) {
        Some("the name of a server must not contain `/` or control characters".to_owned())
    } else {
        None
    }
}
