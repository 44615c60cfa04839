//! All log-ins of one process.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::discovery::{Challenge, Probe, first_challenge};
use super::machine::MachineCredentials;
use super::person::{CallerAccounts, LogInTable, PersonCredentials, drop_client, log_out};
use super::report::describe;
use super::sign_in_issuers::SignInIssuers;
use super::subject::{Subject, url_of};
use super::token_exchange::{CallerExchange, ServerExchange};
use super::{
    CredentialStorage, LogInDescription, LogInError, LogInRequest, LogOutReport, ParkedLogIn, PendingLogIn,
    SubjectTokens,
};
use crate::oauth::signed::{CallerIdentities, SignedIdentities};
use crate::oauth::terms::Registration;
use proxy_config::{AuthConfig, Config, ServerConfig, TransportConfig};
use proxy_model::{CallerCredentials, Credentials, Realm, Who};

/// How long the end of a process waits for renewals.
const DRAIN: Duration = Duration::from_secs(5);
/// How redirect URIs of `proxy login` begin.
const LOCAL_REDIRECT: &str = "http://127.0.0.1";

/// All log-ins of one process: where records are kept, the HTTP client for authorization servers, and one renewal at a
/// time for each of them.
#[derive(Debug)]
pub struct LogIns {
    pub(super) table: LogInTable,
    subject_tokens: Arc<SubjectTokens>,
    pub(super) sign_in_issuers: SignInIssuers,
}

impl LogIns {
    pub fn new(storage: CredentialStorage) -> Arc<Self> {
        let table = LogInTable::new(storage);
        Arc::new(LogIns { table, subject_tokens: Arc::default(), sign_in_issuers: SignInIssuers::default() })
    }

    /// What the transport of a server shows. `None` for servers with `command`, and with a header `Authorization`.
    pub fn credentials(&self, server: &str, config: &ServerConfig) -> Option<Arc<dyn Credentials>> {
        let url = url_of(config)?;
        match &config.auth {
            Some(AuthConfig::ClientCredentials(auth)) => {
                Some(Arc::new(MachineCredentials::of_client(server, url, auth, &self.table.fetcher)?))
            }
            Some(AuthConfig::Enterprise(auth)) => {
                Some(Arc::new(MachineCredentials::of_enterprise(server, url, auth, &self.table.fetcher)?))
            }
            // Everybody has a connection of their own: see `of_people`.
            Some(AuthConfig::TokenExchange(_) | AuthConfig::Signed(_)) => None,
            Some(AuthConfig::OAuth(oauth)) if oauth.personal.is_some() => None,
            // An API does not say where to log in.
            None if matches!(config.transport, TransportConfig::OpenApi(_)) => None,
            Some(AuthConfig::OAuth(_)) | None => {
                let subject = Subject::of(server, config, None).ok()?;
                let log_in = self.table.of(&subject);
                Some(Arc::new(PersonCredentials::new(subject, log_in, Arc::clone(&self.table.follower))))
            }
        }
    }

    /// What the connections of each person show, at a server that everybody has a connection of their own to.
    pub fn of_people(&self, server: &str, config: &ServerConfig) -> Option<Arc<dyn CallerCredentials>> {
        let url = url_of(config)?;
        match &config.auth {
            Some(AuthConfig::TokenExchange(exchange)) => {
                let exchange = ServerExchange::new(server, url, exchange, &self.subject_tokens, &self.table.fetcher);
                Some(Arc::new(CallerExchange(exchange)))
            }
            Some(AuthConfig::Signed(signed)) => Some(Arc::new(CallerIdentities(SignedIdentities::new(url, signed)?))),
            Some(AuthConfig::OAuth(oauth)) if oauth.personal.is_some() => {
                Some(Arc::new(CallerAccounts::new(server, config, &self.table)))
            }
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

    /// The port on this machine of a redirect URI that is registered, to be bound again if possible.
    pub async fn registered_port(
        &self,
        server: &str,
        config: &ServerConfig,
        who: Option<&Who>,
    ) -> Result<Option<u16>, LogInError> {
        let subject = Subject::of(server, config, who)?;
        let holder = self.table.entry_of(&subject).unwrap_or_else(|| self.table.of(&subject));
        let record = holder.stored().await?;
        let client = record.and_then(|record| record.registration).filter(|client| !client.is_expired());
        Ok(client.as_ref().and_then(local_port))
    }

    /// Discovers, registers, and makes the authorization URL. Nothing is saved before [`PendingLogIn::finish`] but a new
    /// registration. `who` is whose account it will be; `None` for everybody's.
    pub async fn begin(
        &self,
        server: &str,
        config: &ServerConfig,
        who: Option<&Who>,
        request: LogInRequest,
    ) -> Result<PendingLogIn, LogInError> {
        let subject = Subject::of(server, config, who)?;
        let log_in = self.table.of(&subject);
        let begun = PendingLogIn::begin(Arc::clone(&log_in), self.table.entry_of(&subject), subject, request).await;
        if begun.is_err() {
            log_in.note_attempt(&begun);
        }
        begun
    }

    /// Goes on with a log-in that was begun by a process with the same config.
    pub async fn resume(
        &self,
        server: &str,
        config: &ServerConfig,
        who: Option<&Who>,
        parked: ParkedLogIn,
    ) -> Result<PendingLogIn, LogInError> {
        let subject = Subject::of(server, config, who)?;
        PendingLogIn::resume(self.table.of(&subject), subject, parked).await
    }

    /// What a server asks of whoever has not logged in.
    pub async fn challenge(&self, config: &ServerConfig) -> Option<Challenge> {
        let url = url::Url::parse(url_of(config)?).ok()?;
        first_challenge(&self.table.fetcher, &url).await
    }

    /// Revokes what can be revoked and deletes the log-in. The registration of the client is kept unless `forget_client`. At
    /// an entry with an account for each person, that is the client with which everybody logs in.
    pub async fn log_out(
        &self,
        server: &str,
        config: &ServerConfig,
        who: Option<&Who>,
        forget_client: bool,
    ) -> Result<LogOutReport, LogInError> {
        let subject = Subject::of(server, config, who)?;
        let mut report = log_out(&self.table.of(&subject), forget_client).await?;
        if forget_client && subject.who.is_some() {
            report.forgot_client = drop_client(&self.table.storage, &subject.entry_key(), None).await?;
        }
        Ok(report)
    }

    /// Ends all log-ins of a person, also at servers that are no longer in the config, and of people of that name whose issuer
    /// is no longer in it. Returns the entry of each.
    pub async fn log_out_of_all(&self, config: &Config, who: &Who) -> Result<Vec<(String, LogOutReport)>, LogInError> {
        let mut ended = Vec::new();
        for (key, record) in self.table.storage.all().await? {
            let is_of_gone_issuer = record.person == *who.sub
                && record.who().is_some_and(|known| match known.realm {
                    Realm::Issuer(issuer) => config.auth.issuers.iter().all(|known| known.issuer != *issuer),
                    _ => false,
                });
            if !record.is_of(who) && !is_of_gone_issuer {
                continue;
            }
            let issuer = match config.servers.get(&record.entry).and_then(|server| server.auth.as_ref()) {
                Some(AuthConfig::OAuth(oauth)) => oauth.issuer.clone(),
                _ => None,
            };
            let report = log_out(&self.table.at(&key, issuer.as_deref()), false).await?;
            ended.push((record.entry, report));
        }
        ended.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(ended)
    }

    /// For `proxy login --list`.
    pub async fn describe(&self, server: &str, config: &ServerConfig) -> Result<LogInDescription, LogInError> {
        match (&config.auth, url_of(config)) {
            (Some(auth), Some(_)) if !matches!(auth, AuthConfig::OAuth(_)) => Ok(describe::of_machine(auth)),
            _ => {
                let subject = Subject::of(server, config, None)?;
                Ok(describe::of_person(&subject, self.table.of(&subject).stored().await))
            }
        }
    }

    /// Whether a person has an account connected at a server.
    pub async fn is_connected(&self, server: &str, config: &ServerConfig, who: &Who) -> Result<bool, LogInError> {
        let subject = Subject::of(server, config, Some(who))?;
        let record = self.table.of(&subject).stored().await?;
        Ok(record.and_then(|record| record.tokens).is_some_and(|tokens| !tokens.refused))
    }

    /// The accounts of people at a server, by their names.
    pub async fn describe_people(
        &self,
        server: &str,
        config: &ServerConfig,
    ) -> Result<Vec<(Who, LogInDescription)>, LogInError> {
        let entry = Subject::of(server, config, None)?;
        let mut people = Vec::new();
        for (key, record) in self.table.storage.all().await? {
            let is_of_entry = record.entry == entry.name && record.server_url == entry.url && !record.person.is_empty();
            if !is_of_entry {
                continue;
            }
            let Some(who) = record.who() else { continue };
            let subject = Subject::of(server, config, Some(&who))?;
            // With another issuer in the config, it is another account.
            if subject.key == key {
                people.push((who, describe::of_person(&subject, Ok(Some(record)))));
            }
        }
        people.sort_by(|(one, _), (other, _)| one.sub.cmp(&other.sub));
        Ok(people)
    }

    /// Waits for renewals and locks that are under way, at most five seconds: an answer must be saved before the process
    /// exits, and a lock given back.
    pub async fn drain(&self) {
        let renewing: Vec<_> =
            self.table.persons.lock().values().filter_map(|person| person.renewing.lock().clone()).collect();
        let finished = async {
            join_all(renewing).await;
            self.table.storage.unlocked().await;
        };
        let _ = tokio::time::timeout(DRAIN, finished).await;
    }

    /// Whether what other processes store is taken up.
    #[cfg(test)]
    pub(super) fn is_following(&self) -> bool {
        self.table.follower.is_running()
    }
}

/// The port of a redirect URI on this machine.
fn local_port(client: &Registration) -> Option<u16> {
    let local = client.redirect_uris().find(|uri| uri.starts_with(LOCAL_REDIRECT));
    local.and_then(|uri| url::Url::parse(uri).ok()).and_then(|url| url.port())
}
