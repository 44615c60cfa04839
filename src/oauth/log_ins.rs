//! All log-ins of one process.

use std::sync::Arc;

use super::{Challenge, CredentialStorage, LogInDescription, LogInError, LogInReport, LogOutReport, Probe};
use crate::config::{ServerConfig, TransportConfig};
use crate::model::Credentials;

/// All log-ins of one process: where records are kept, the HTTP client for authorization servers, and one renewal at a
/// time for each of them.
#[derive(Debug)]
pub struct LogIns {
    _storage: CredentialStorage,
}

/// What a person wants to log in with.
#[derive(Clone, Debug)]
pub struct LogInRequest {
    /// What the server has asked for, if it was asked.
    pub challenge: Option<Challenge>,
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// Scopes to ask for instead of those that the server or the config name.
    pub scopes: Vec<String>,
}

/// A log-in that waits for a person.
#[derive(Debug)]
pub struct PendingLogIn {
    authorization_url: String,
    redirect_uri: String,
}

impl LogIns {
    pub fn new(storage: CredentialStorage) -> Arc<Self> {
        Arc::new(LogIns { _storage: storage })
    }

    /// What the transport of a server shows. `None` for servers with `command`, and with a header `Authorization`.
    pub fn credentials(self: &Arc<Self>, server: &str, config: &ServerConfig) -> Option<Arc<dyn Credentials>> {
        self.probe(server, config).map(|probe| probe as Arc<dyn Credentials>)
    }

    /// Shows no token and remembers the challenge: for `proxy login`, which has to know what the server asks for.
    pub fn probe(self: &Arc<Self>, server: &str, config: &ServerConfig) -> Option<Arc<Probe>> {
        match &config.transport {
            TransportConfig::Stdio { .. } => None,
            TransportConfig::Http { .. } => Some(Arc::new(Probe::new(server))),
        }
    }

    /// The port of the redirect URI that is registered, to be bound again if possible.
    pub async fn registered_port(&self, server: &str, _config: &ServerConfig) -> Result<Option<u16>, LogInError> {
        Err(LogInError::NotApplicable(server.to_owned()))
    }

    /// Discovers, registers, and makes the authorization URL. Nothing is saved before [`PendingLogIn::finish`] but a new
    /// registration.
    pub async fn begin(
        self: &Arc<Self>,
        server: &str,
        _config: &ServerConfig,
        _request: LogInRequest,
    ) -> Result<PendingLogIn, LogInError> {
        Err(LogInError::NotApplicable(server.to_owned()))
    }

    /// Revokes what can be revoked and deletes the log-in. The registration of the client is kept unless `forget_client`.
    pub async fn log_out(
        &self,
        server: &str,
        _config: &ServerConfig,
        _forget_client: bool,
    ) -> Result<LogOutReport, LogInError> {
        Err(LogInError::NotApplicable(server.to_owned()))
    }

    /// For `proxy login --list`.
    pub async fn describe(&self, server: &str, _config: &ServerConfig) -> Result<LogInDescription, LogInError> {
        Err(LogInError::NotApplicable(server.to_owned()))
    }

    /// Waits for renewals that are under way, at most five seconds: their answer must be saved before the process exits.
    pub async fn drain(&self) {}
}

impl PendingLogIn {
    /// What the person opens in a browser.
    pub fn authorization_url(&self) -> &str {
        &self.authorization_url
    }

    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Checks the URL that the browser was redirected to, exchanges its code, and saves the log-in. After
    /// [`LogInError::Callback`] another redirect may be tried.
    pub async fn finish(&mut self, callback: &str) -> Result<LogInReport, LogInError> {
        Err(LogInError::Callback(callback.to_owned()))
    }
}
