//! Renews the tokens of a log-in, once for all who need it, in this process and in others.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared};
use url::Url;

use super::forgotten_client::{drop_client, is_forgotten};
use super::person_log_in::PersonLogIn;
use crate::oauth::ClientKind;
use crate::oauth::exchange::{ExchangeError, OAuthExchange};
use crate::oauth::storage::{LogInRecord, RecordLock};
use crate::oauth::subject::reach;
use crate::oauth::terms::Grant;

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
                "the renewed authorization at {url} could not be saved and is lost when the proxy stops; then \
                 somebody has to log in again: {error}"
            );
        }
        Renewal::Renewed
    }

    /// Drops the tokens that are no longer accepted.
    async fn give_up(&self, lock: &RecordLock, record: &LogInRecord, code: &str, text: String) -> Renewal {
        let mut kept = LogInRecord { tokens: None, last_error: Some(text.clone()), ..record.clone() };
        // A client that the authorization server has forgotten is registered again at the next log-in.
        if is_forgotten(code) {
            kept.registration = kept.registration.filter(|client| client.kind != ClientKind::Registered);
        }
        if let Err(error) = self.replace(lock, kept).await {
            tracing::warn!("cannot save that an authorization has ended: {error}");
        }
        if is_forgotten(code) {
            self.drop_client_of_entry(record).await;
        }
        Renewal::Refused(text)
    }

    /// A person logs in with the client of the entry, which the authorization server has forgotten for everybody.
    async fn drop_client_of_entry(&self, record: &LogInRecord) {
        let Some(entry) = self.entry.get() else { return };
        let Some(client) = &record.registration else { return };
        if let Err(error) = drop_client(&self.storage, entry, Some(&client.client_id)).await {
            tracing::warn!("cannot save that a client is no longer registered: {error}");
        }
    }

    async fn refresh(&self, record: &LogInRecord) -> Result<Grant, ExchangeError> {
        let (Some(tokens), Some(client)) = (&record.tokens, &record.registration) else {
            return Err(refused("the authorization has ended"));
        };
        let Some(refresh_token) = &tokens.refresh_token else {
            return Err(refused("the authorization has expired and cannot be renewed"));
        };
        if client.is_expired() {
            return Err(refused("the proxy's registration has expired"));
        }
        let url = Url::parse(&record.server_url).map_err(|error| ExchangeError::Failed(error.to_string()))?;
        let reach = reach(&url, self.issuer.as_deref()).await;
        let exchange = OAuthExchange { fetcher: &self.fetcher, reach, server: &record.authorization_server };
        // Without a scope, the answer has those that were granted (RFC 6749, 6).
        let fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token.reveal())];
        exchange.token_for(client, record.resource.as_deref(), fields).await
    }
}

/// Whether no later attempt can succeed.
fn is_final(code: &str) -> bool {
    matches!(code, "invalid_grant" | "unauthorized_client") || is_forgotten(code)
}

fn refused(text: &str) -> ExchangeError {
    ExchangeError::Refused { code: "invalid_grant".to_owned(), text: text.to_owned() }
}

/// The origin of a server: the rest of its URL may be a secret.
fn url_shown(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "a server".to_owned(), |url| format!("`{}`", url.origin().ascii_serialization()))
}
