//! Renews the tokens of a log-in, once for all who need it, in this process and in others.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared};
use rmcp::transport::auth::{CredentialStore, InMemoryCredentialStore, OAuthTokenResponse, StoredCredentials};
use serde_json::json;
use url::Url;

use super::person_log_in::PersonLogIn;
use crate::oauth::exchange::{ExchangeError, OAuthExchange, Rewrite};
use crate::oauth::storage::{LogInRecord, RecordLock};
use crate::oauth::subject::reach;
use crate::oauth::terms::Grant;
use crate::oauth::{ClientKind, LogInError};

/// The outcome of a renewal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Renewal {
    /// There are new tokens.
    Renewed,
    /// A person has to log in; why.
    Refused(String),
    /// Not now; why. Everything is kept.
    Failed(String),
}

impl PersonLogIn {
    /// Renews the tokens, or joins a renewal that is under way. It runs in a task of its own: once the authorization server
    /// has read the request the old refresh token may be spent, so the answer is saved whoever has stopped waiting for it.
    pub(crate) async fn renew(self: &Arc<Self>) -> Renewal {
        if let Some(error) = self.failures.lock().standing() {
            return Renewal::Failed(error);
        }
        self.renewing().await
    }

    fn renewing(self: &Arc<Self>) -> Shared<BoxFuture<'static, Renewal>> {
        let mut slot = self.renewing.lock();
        if let Some(renewing) = &*slot {
            return renewing.clone();
        }
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            let renewal = this.renew_now().await;
            match &renewal {
                Renewal::Failed(error) => this.failures.lock().add(error.clone()),
                _ => this.failures.lock().clear(),
            }
            // Whoever comes later begins anew, and finds what this one has stored.
            this.renewing.lock().take();
            renewal
        });
        let stopped = "the renewal was stopped".to_owned();
        let renewing = async move { task.await.unwrap_or(Renewal::Failed(stopped)) }.boxed().shared();
        slot.insert(renewing).clone()
    }

    async fn renew_now(&self) -> Renewal {
        let before = self.known().header.clone();
        let locked = async {
            let lock = self.storage.lock(&self.key).await?;
            // Another process may have renewed it before this one had the lock.
            self.take_up().await.map(|_| lock)
        };
        let lock = match locked.await {
            Ok(lock) => lock,
            Err(error) => return Renewal::Failed(error.to_string()),
        };
        let known = Arc::clone(&self.known());
        if known.header != before && known.fresh().is_some() {
            return Renewal::Renewed;
        }
        let Some(record) = known.record.clone() else {
            return Renewal::Refused("somebody has logged out".to_owned());
        };
        match self.refresh(&record).await {
            Ok(grant) => self.keep(&lock, &record, grant).await,
            Err(ExchangeError::Refused { code, text }) if is_final(&code) => {
                // Somebody may have written without the lock, such as by copying a file.
                match self.take_up().await {
                    Ok(true) if self.known().fresh().is_some() => Renewal::Renewed,
                    _ => self.give_up(&lock, &record, &code, text).await,
                }
            }
            Err(error) => {
                let noted = LogInRecord { last_error: Some(error.text().to_owned()), ..LogInRecord::clone(&record) };
                if noted != *record {
                    let _ = self.replace(&lock, noted).await;
                }
                Renewal::Failed(error.text().to_owned())
            }
        }
    }

    /// Saves new tokens before they are used.
    async fn keep(&self, lock: &RecordLock, record: &LogInRecord, grant: Grant) -> Renewal {
        let Some(renewed) = record.renewed(grant) else {
            return Renewal::Refused("somebody has logged out".to_owned());
        };
        if let Err(error) = self.replace(lock, renewed).await {
            let url = url_shown(&record.server_url);
            tracing::error!(
                "the renewed log-in at {url} could not be saved and is lost when the proxy stops; then somebody has to log \
                 in again: {error}"
            );
        }
        Renewal::Renewed
    }

    /// Drops the tokens that are no longer accepted.
    async fn give_up(&self, lock: &RecordLock, record: &LogInRecord, code: &str, text: String) -> Renewal {
        let mut kept = LogInRecord { tokens: None, last_error: Some(text.clone()), ..record.clone() };
        // A client that the authorization server has forgotten is registered again at the next log-in.
        if code != "invalid_grant" {
            kept.registration = kept.registration.filter(|client| client.kind != ClientKind::Registered);
        }
        if let Err(error) = self.replace(lock, kept).await {
            tracing::warn!("the end of a log-in could not be saved: {error}");
        }
        Renewal::Refused(text)
    }

    async fn refresh(&self, record: &LogInRecord) -> Result<Grant, ExchangeError> {
        let failed = |error: LogInError| ExchangeError::Failed(error.to_string());
        let (Some(tokens), Some(client)) = (&record.tokens, &record.registration) else {
            return Err(refused("the log-in has ended"));
        };
        let Some(refresh_token) = &tokens.refresh_token else {
            return Err(refused("the log-in has expired and cannot be renewed"));
        };
        let issuer = &record.authorization_server.issuer;
        if client.is_expired() {
            return Err(refused("the registration of the proxy has expired"));
        }
        let url = Url::parse(&record.server_url).map_err(|error| ExchangeError::Failed(error.to_string()))?;
        let secrets = [Some(refresh_token.clone()), client.client_secret.clone()].into_iter().flatten().collect();
        let rewrite = Rewrite { resource: record.resource.clone(), secrets, ..Rewrite::default() };
        let exchange = OAuthExchange::new(&self.fetcher, reach(&url, self.issuer.as_deref()).await, rewrite);
        let mut manager =
            exchange.manager(&record.server_url, &record.authorization_server, client).await.map_err(failed)?;
        let held = json!({
            "access_token": tokens.access_token.reveal(), "token_type": "bearer", "refresh_token": refresh_token.reveal(),
        });
        let held: OAuthTokenResponse =
            serde_json::from_value(held).map_err(|_| ExchangeError::Failed("unusable tokens".to_owned()))?;
        // It asks for the scopes that it is told. Without any the answer has those that were granted (RFC 6749, 6).
        let held = StoredCredentials::new(client.client_id.clone(), Some(held), Vec::new(), None);
        let store = InMemoryCredentialStore::new();
        store.save(held).await.map_err(|error| ExchangeError::Failed(error.to_string()))?;
        manager.set_credential_store(store);
        exchange.granted(issuer, manager.refresh_token().await)
    }
}

/// Whether no later attempt can succeed.
fn is_final(code: &str) -> bool {
    matches!(code, "invalid_grant" | "invalid_client" | "unauthorized_client")
}

fn refused(text: &str) -> ExchangeError {
    ExchangeError::Refused { code: "invalid_grant".to_owned(), text: text.to_owned() }
}

/// The origin of a server: the rest of its URL may be a secret.
fn url_shown(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "a server".to_owned(), |url| format!("`{}`", url.origin().ascii_serialization()))
}
