//! A log-in with a browser, from the authorization URL to the saved record.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use url::Url;

use super::expected_redirect::ExpectedRedirect;
use super::scope_selection::ScopeSelection;
use crate::oauth::discovery::{Challenge, Discovered, Discovery};
use crate::oauth::exchange::{ExchangeError, OAuthExchange};
use crate::oauth::person::{PersonLogIn, drop_client, is_forgotten};
use crate::oauth::registration::ClientChoice;
use crate::oauth::storage::{LogInRecord, RecordKey, Tokens};
use crate::oauth::subject::{self, Subject};
use crate::oauth::terms::Registration;
use crate::oauth::terms::secret_fields::secret;
use crate::oauth::unix_time::{now, time_of};
use crate::oauth::{LogInError, LogInReport, scopes};
use proxy_base::foreign_text::quoted;
use proxy_model::Secret;
use proxy_wire::http::{Reach, is_same_issuer};

/// How long a person has for the visit at the authorization server.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How many log-ins are made for scopes that the server keeps asking for.
const MAX_STEP_UPS: u32 = 3;

/// What a person wants to log in with.
#[derive(Clone, Debug)]
pub struct LogInRequest {
    /// What the server has asked for, if it was asked.
    pub challenge: Option<Challenge>,
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// Other places where log-ins of the same client may come back to: they are registered with the first.
    pub more_redirect_uris: Vec<String>,
    /// Scopes to ask for in addition to those that the server or the config name.
    pub scopes: Vec<String>,
}

/// A log-in that waits for a person.
pub struct PendingLogIn {
    log_in: Arc<PersonLogIn>,
    subject: Subject,
    reach: Reach,
    authorization_url: String,
    parked: ParkedLogIn,
    created: Instant,
    used: bool,
}

/// What has to be remembered of a log-in while a person visits the authorization server. It has secrets: whoever keeps it
/// encrypts it.
#[derive(Serialize, Deserialize)]
pub struct ParkedLogIn {
    #[serde(with = "secret")]
    state: Secret,
    #[serde(with = "secret")]
    verifier: Secret,
    registration: Registration,
    requested: Vec<String>,
    /// What the record is saved as.
    key: RecordKey,
    /// The record that is saved, without tokens.
    record: LogInRecord,
}

impl fmt::Debug for ParkedLogIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ParkedLogIn").field("server", &self.record.entry).finish_non_exhaustive()
    }
}

impl ParkedLogIn {
    /// What must come back from the authorization server, and from nowhere else.
    pub fn state(&self) -> &Secret {
        &self.state
    }
}

impl fmt::Debug for PendingLogIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PendingLogIn").field("server", &self.subject.name).finish_non_exhaustive()
    }
}

impl PendingLogIn {
    /// `entry` has the client of the entry, if that is not the client of this log-in alone.
    pub(crate) async fn begin(
        log_in: Arc<PersonLogIn>,
        entry: Option<Arc<PersonLogIn>>,
        subject: Subject,
        request: LogInRequest,
    ) -> Result<Self, LogInError> {
        log_in.storage.check(&log_in.key)?;
        let reach = subject::reach(&subject.parsed, subject.config.issuer.as_deref()).await;
        let discovery = Discovery {
            fetcher: &log_in.fetcher,
            reach,
            server: &subject.parsed,
            issuer: subject.config.issuer.as_deref(),
            endpoints: subject.config.endpoints.as_ref(),
        };
        let discovered = discovery.run(request.challenge.as_ref()).await?;
        check_authorization(&subject, &discovered)?;
        let last = log_in.stored().await?;
        let of_issuer = |last: &&LogInRecord| {
            is_same_issuer(&last.authorization_server.issuer, &discovered.authorization_server.issuer)
        };
        let of_issuer = last.as_ref().filter(of_issuer);
        let requested = ScopeSelection {
            named: &request.scopes,
            configured: &subject.config.scopes,
            challenge: request.challenge.as_ref(),
            resource: &discovered.scopes,
            supported: &discovered.authorization_server.scopes_supported,
            last: of_issuer,
        }
        .select();
        check_step_ups(&subject, of_issuer)?;
        let of_entry = match &entry {
            Some(entry) => entry.stored().await?,
            None => None,
        };
        let of_entry = of_entry.filter(|known| {
            is_same_issuer(&known.authorization_server.issuer, &discovered.authorization_server.issuer)
        });
        let choice = ClientChoice {
            subject: &subject,
            server: &discovered.authorization_server,
            redirect_uri: &request.redirect_uri,
            more_redirect_uris: &request.more_redirect_uris,
            scopes: &requested,
            last: if entry.is_some() { of_entry.as_ref() } else { of_issuer },
        };
        let chosen = choice.choose(&log_in.fetcher, reach).await?;
        let record = new_record(&subject, discovered, of_issuer);
        if chosen.new
            && let Some(entry) = entry
        {
            let registration = Some(chosen.registration.clone());
            entry.save(LogInRecord { registration, step_ups: 0, ..record.clone() }.of_person(None)).await?;
        } else if chosen.new && last.as_ref().is_none_or(|last| last.tokens.is_none()) {
            // A log-in that is in use is not touched: its refresh token belongs to its own client.
            let registered = LogInRecord {
                registration: Some(chosen.registration.clone()),
                requested_scopes: of_issuer.map(|last| last.requested_scopes.clone()).unwrap_or_default(),
                wanted_scopes: of_issuer.map(|last| last.wanted_scopes.clone()).unwrap_or_default(),
                step_ups: of_issuer.map_or(0, |last| last.step_ups),
                ..record.clone()
            };
            log_in.save(registered).await?;
        }
        let registration = chosen.registration;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (authorization_url, state) = authorization_url(&record, &registration, challenge, &requested)
            .map_err(|error| LogInError::Metadata(format!("the authorization server cannot be used: {error}")))?;
        let state = Secret::new(state.into_secret());
        let verifier = Secret::new(verifier.into_secret());
        let key = subject.key.clone();
        let parked = ParkedLogIn { state, verifier, registration, requested, key, record };
        let authorization_url = authorization_url.into();
        Ok(PendingLogIn { log_in, subject, reach, authorization_url, parked, created: Instant::now(), used: false })
    }

    /// The log-in that was parked. Whoever kept it has seen to it that it is used once, and not for too long.
    pub(crate) async fn resume(
        log_in: Arc<PersonLogIn>,
        subject: Subject,
        parked: ParkedLogIn,
    ) -> Result<Self, LogInError> {
        // The key has the entry, its URL and authorization server, and the person.
        if parked.key != subject.key {
            return Err(LogInError::Refused(format!(
                "the config of server `{}` changed meanwhile: start again",
                subject.name
            )));
        }
        let reach = subject::reach(&subject.parsed, subject.config.issuer.as_deref()).await;
        let authorization_url = String::new();
        Ok(PendingLogIn { log_in, subject, reach, authorization_url, parked, created: Instant::now(), used: false })
    }

    /// What has to be remembered of it, to be resumed in this process or another one.
    pub fn park(self) -> ParkedLogIn {
        self.parked
    }

    /// What the person opens in a browser.
    pub fn authorization_url(&self) -> &str {
        &self.authorization_url
    }

    pub fn redirect_uri(&self) -> &str {
        &self.parked.registration.redirect_uri
    }

    /// Checks the URL that the browser was redirected to, exchanges its code, and saves the log-in. After
    /// [`LogInError::Callback`] another redirect may be tried.
    pub async fn finish(&mut self, callback: &str) -> Result<LogInReport, LogInError> {
        let outcome = self.redeemed(callback).await;
        self.log_in.note_attempt(&outcome);
        outcome
    }

    async fn redeemed(&mut self, callback: &str) -> Result<LogInReport, LogInError> {
        if self.used {
            return Err(LogInError::Refused("this authorization has already received its redirect".to_owned()));
        }
        if self.created.elapsed() > LIFETIME {
            let minutes = LIFETIME.as_secs() / 60;
            return Err(LogInError::Refused(format!(
                "the authorization took longer than {minutes} minutes: start again"
            )));
        }
        let ParkedLogIn { state, verifier, registration, requested, record, .. } = &self.parked;
        let server = &record.authorization_server;
        let expected = ExpectedRedirect {
            redirect_uri: &registration.redirect_uri,
            state: state.reveal(),
            issuer: &server.issuer,
            names_itself: server.names_itself,
        };
        let code = match expected.code(callback) {
            Err(LogInError::Callback(reason)) => return Err(LogInError::Callback(reason)),
            other => {
                // A code, and a refusal, are good for one use.
                self.used = true;
                other?
            }
        };
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("code_verifier", verifier.reveal()),
            ("redirect_uri", &registration.redirect_uri),
        ];
        let exchange = OAuthExchange { fetcher: &self.log_in.fetcher, reach: self.reach, server };
        let grant = match exchange.token_for(registration, record.resource.as_deref(), fields).await {
            Ok(grant) => grant,
            Err(error) => return Err(self.refused(error).await),
        };
        let granted_scopes = grant.scopes.clone().unwrap_or_else(|| requested.clone());
        let tokens = Tokens {
            log_in: uuid::Uuid::new_v4().simple().to_string(),
            obtained_at: now(),
            expires_at: grant.expires_at(),
            access_token: grant.access_token,
            refresh_token: grant.refresh_token,
            refused: false,
        };
        let report = LogInReport {
            issuer: server.issuer.clone(),
            denied_scopes: requested.iter().filter(|scope| !granted_scopes.contains(scope)).cloned().collect(),
            scopes: granted_scopes.clone(),
            expires_at: tokens.expires_at.map(time_of),
            refreshable: tokens.refresh_token.is_some(),
        };
        let record = LogInRecord {
            registration: Some(registration.clone()),
            tokens: Some(tokens),
            requested_scopes: requested.clone(),
            granted_scopes,
            ..record.clone()
        };
        self.log_in.save(record).await?;
        Ok(report)
    }

    /// Why there are no tokens. A client that the authorization server has forgotten is registered again at the next attempt.
    async fn refused(&self, error: ExchangeError) -> LogInError {
        let ExchangeError::Refused { code, text } = &error else { return error.into() };
        if !is_forgotten(code) {
            return error.into();
        }
        let client = &self.parked.registration.client_id;
        match drop_client(&self.log_in.storage, &self.subject.entry_key(), Some(client)).await {
            Ok(true) => LogInError::Refused(format!("{text}: start again, so that the proxy registers itself anew")),
            Ok(false) => error.into(),
            Err(problem) => {
                tracing::warn!("cannot save that a client is no longer registered: {problem}");
                error.into()
            }
        }
    }
}

/// The record of the log-in that begins now.
fn new_record(subject: &Subject, discovered: Discovered, last: Option<&LogInRecord>) -> LogInRecord {
    let resource = subject::resource(&subject.config.resource, discovered.resource.as_deref(), &subject.url);
    let stepped_up = last.filter(|last| !last.wanted_scopes.is_empty()).map_or(0, |last| last.step_ups + 1);
    LogInRecord {
        step_ups: stepped_up,
        ..LogInRecord::new(&subject.name, &subject.url, discovered.authorization_server, resource)
            .of_person(subject.who.as_ref())
    }
}

/// Whether a person can be sent to this authorization server at all.
fn check_authorization(subject: &Subject, discovered: &Discovered) -> Result<(), LogInError> {
    let server = &discovered.authorization_server;
    let issuer = quoted(&server.issuer);
    if server.authorization_endpoint.is_none() {
        return Err(LogInError::Metadata(format!("{issuer} has no authorization endpoint: nobody can log in there")));
    }
    match &server.pkce_methods {
        Some(methods) if methods.iter().any(|method| method == "S256") => Ok(()),
        None if !subject.config.require_pkce_metadata => Ok(()),
        None => Err(LogInError::Metadata(format!(
            "{issuer} does not declare PKCE (`code_challenge_methods_supported`), without which a code can be stolen: if \
             you know that it supports S256, set `requirePkceMetadata: false` in `mcpServers.{}.auth`",
            subject.name
        ))),
        Some(_) => Err(LogInError::Metadata(format!("{issuer} does not support PKCE with S256"))),
    }
}

/// Refuses one more log-in for scopes that the last one has asked for already, and others before it.
fn check_step_ups(subject: &Subject, last: Option<&LogInRecord>) -> Result<(), LogInError> {
    let Some(last) = last.filter(|last| last.step_ups >= MAX_STEP_UPS && !last.wanted_scopes.is_empty()) else {
        return Ok(());
    };
    if !scopes::has_all(&last.requested_scopes, &last.wanted_scopes) {
        return Ok(());
    }
    Err(LogInError::StepUp(format!(
        "server `{}` keeps asking for {} although {} authorizations have asked for it: the account may lack the \
         permission ({} starts over)",
        subject.name,
        scopes::shown(&last.wanted_scopes),
        last.step_ups,
        if subject.who.is_some() { "disconnecting".to_owned() } else { format!("`proxy logout {}`", subject.name) }
    )))
}

/// Where the person is sent, and the `state` that must come back.
fn authorization_url(
    record: &LogInRecord,
    client: &Registration,
    challenge: PkceCodeChallenge,
    scopes: &[String],
) -> Result<(Url, CsrfToken), url::ParseError> {
    let endpoint = record.authorization_server.authorization_endpoint.clone().unwrap_or_default();
    let redirect_uri = RedirectUrl::new(client.redirect_uri.clone())?;
    let client = BasicClient::new(ClientId::new(client.client_id.clone()))
        .set_auth_uri(AuthUrl::new(endpoint)?)
        .set_redirect_uri(redirect_uri);
    let mut request = client.authorize_url(|| CsrfToken::new_random_len(32)).set_pkce_challenge(challenge);
    request = request.add_scopes(scopes.iter().cloned().map(Scope::new));
    if let Some(resource) = &record.resource {
        request = request.add_extra_param("resource", resource);
    }
    Ok(request.url())
}
