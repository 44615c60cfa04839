//! All log-ins of one process.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::discovery::Probe;
use super::machine::MachineCredentials;
use super::person::{Follower, PersonCredentials, PersonLogIn, PersonLogIns, log_out};
use super::report::describe;
use super::subject::{Subject, url_of};
use super::token_exchange::{CallerExchange, ServerExchange};
use super::{CredentialStorage, LogInDescription, LogInError, LogInRequest, LogOutReport, PendingLogIn, SubjectTokens};
use crate::oauth::signed::{CallerIdentities, SignedIdentities};
use crate::oauth::terms::Registration;
use proxy_config::{AuthConfig, ServerConfig};
use proxy_model::{CallerCredentials, Credentials};
use proxy_wire::http::Fetcher;

/// How long the end of a process waits for renewals.
const DRAIN: Duration = Duration::from_secs(5);

/// All log-ins of one process: where records are kept, the HTTP client for authorization servers, and one renewal at a
/// time for each of them.
#[derive(Debug)]
pub struct LogIns {
    storage: CredentialStorage,
    fetcher: Arc<Fetcher>,
    persons: PersonLogIns,
    follower: Arc<Follower>,
    subject_tokens: Arc<SubjectTokens>,
}

impl LogIns {
    pub fn new(storage: CredentialStorage) -> Arc<Self> {
        let persons = PersonLogIns::default();
        let follower = Follower::new(&storage, &persons);
        Arc::new(LogIns { storage, fetcher: Arc::default(), persons, follower, subject_tokens: Arc::default() })
    }

    /// What the transport of a server shows. `None` for servers with `command`, and with a header `Authorization`.
    pub fn credentials(&self, server: &str, config: &ServerConfig) -> Option<Arc<dyn Credentials>> {
        let url = url_of(config)?;
        match &config.auth {
            Some(AuthConfig::ClientCredentials(auth)) => {
                Some(Arc::new(MachineCredentials::of_client(server, url, auth, &self.fetcher)?))
            }
            Some(AuthConfig::Enterprise(auth)) => {
                Some(Arc::new(MachineCredentials::of_enterprise(server, url, auth, &self.fetcher)?))
            }
            // Everybody has a connection of their own: see `of_people`.
            Some(AuthConfig::TokenExchange(_) | AuthConfig::Signed(_)) => None,
            Some(AuthConfig::OAuth(_)) | None => {
                let subject = Subject::of(server, config).ok()?;
                let log_in = self.person(&subject);
                Some(Arc::new(PersonCredentials::new(subject, log_in, Arc::clone(&self.follower))))
            }
        }
    }

    /// What the connections of each person show, at a server that everybody has a connection of their own to.
    pub fn of_people(&self, server: &str, config: &ServerConfig) -> Option<Arc<dyn CallerCredentials>> {
        let url = url_of(config)?;
        match &config.auth {
            Some(AuthConfig::TokenExchange(exchange)) => {
                let exchange = ServerExchange::new(server, url, exchange, &self.subject_tokens, &self.fetcher);
                Some(Arc::new(CallerExchange(exchange)))
            }
            Some(AuthConfig::Signed(signed)) => Some(Arc::new(CallerIdentities(SignedIdentities::new(url, signed)?))),
            _ => None,
        }
    }

    /// The tokens of callers that are exchanged.
    pub fn subject_tokens(&self) -> &Arc<SubjectTokens> {
        &self.subject_tokens
    }

    /// Shows no token and remembers the challenge: for `proxy login`, which has to know what the server asks for.
    pub fn probe(&self, config: &ServerConfig) -> Option<Arc<Probe>> {
        url_of(config).map(|_| Arc::default())
    }

    /// The port of the redirect URI that is registered, to be bound again if possible.
    pub async fn registered_port(&self, server: &str, config: &ServerConfig) -> Result<Option<u16>, LogInError> {
        let subject = Subject::of(server, config)?;
        let record = self.person(&subject).stored().await?;
        let client = record.and_then(|record| record.registration).filter(|client| !client.is_expired());
        Ok(client.as_ref().and_then(port))
    }

    /// Discovers, registers, and makes the authorization URL. Nothing is saved before [`PendingLogIn::finish`] but a new
    /// registration.
    pub async fn begin(
        &self,
        server: &str,
        config: &ServerConfig,
        request: LogInRequest,
    ) -> Result<PendingLogIn, LogInError> {
        let subject = Subject::of(server, config)?;
        PendingLogIn::begin(self.person(&subject), subject, request).await
    }

    /// Revokes what can be revoked and deletes the log-in. The registration of the client is kept unless `forget_client`.
    pub async fn log_out(
        &self,
        server: &str,
        config: &ServerConfig,
        forget_client: bool,
    ) -> Result<LogOutReport, LogInError> {
        let subject = Subject::of(server, config)?;
        log_out(&self.person(&subject), forget_client).await
    }

    /// For `proxy login --list`.
    pub async fn describe(&self, server: &str, config: &ServerConfig) -> Result<LogInDescription, LogInError> {
        match (&config.auth, url_of(config)) {
            (Some(auth), Some(_)) if !matches!(auth, AuthConfig::OAuth(_)) => Ok(describe::of_machine(auth)),
            _ => {
                let subject = Subject::of(server, config)?;
                Ok(describe::of_person(&subject, self.person(&subject).stored().await))
            }
        }
    }

    /// Waits for renewals and locks that are under way, at most five seconds: an answer must be saved before the process
    /// exits, and a lock given back.
    pub async fn drain(&self) {
        let renewing: Vec<_> =
            self.persons.lock().values().filter_map(|person| person.renewing.lock().clone()).collect();
        let finished = async {
            join_all(renewing).await;
            self.storage.unlocked().await;
        };
        let _ = tokio::time::timeout(DRAIN, finished).await;
    }

    /// Whether what other processes store is taken up.
    #[cfg(test)]
    pub(super) fn is_following(&self) -> bool {
        self.follower.is_running()
    }

    /// The log-in of a person, one for each record.
    fn person(&self, subject: &Subject) -> Arc<PersonLogIn> {
        let mut persons = self.persons.lock();
        let new = || Arc::new(PersonLogIn::new(subject, self.storage.clone(), Arc::clone(&self.fetcher)));
        Arc::clone(persons.entry(subject.key.clone()).or_insert_with(new))
    }
}

/// The port of a redirect URI on this machine.
fn port(client: &Registration) -> Option<u16> {
    url::Url::parse(&client.redirect_uri).ok().and_then(|url| url.port())
}
