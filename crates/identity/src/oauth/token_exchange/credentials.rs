//! The credentials of one person's connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures::future::{BoxFuture, FutureExt};
use http::HeaderValue;

use super::server_exchange::ServerExchange;
use super::subject_tokens::PersonToken;
use crate::oauth::discovery::Challenge;
use crate::oauth::scopes;
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};

#[derive(Debug)]
pub(super) struct ExchangeCredentials {
    exchange: Arc<ServerExchange>,
    person: Arc<PersonToken>,
    /// Held while a token is exchanged: one at a time.
    exchanging: tokio::sync::Mutex<()>,
    /// Whether the last attempt to get a token failed.
    is_failing: AtomicBool,
}

impl ExchangeCredentials {
    pub(super) fn new(exchange: &Arc<ServerExchange>, person: Arc<PersonToken>) -> Self {
        let (exchanging, is_failing) = (tokio::sync::Mutex::default(), AtomicBool::default());
        ExchangeCredentials { exchange: Arc::clone(exchange), person, exchanging, is_failing }
    }

    async fn exchanged(&self) -> Result<HeaderValue, LoginNeeded> {
        let outcome = self.try_exchange().await;
        self.is_failing.store(outcome.is_err(), Ordering::Relaxed);
        outcome.map_err(LoginNeeded)
    }

    async fn try_exchange(&self) -> Result<HeaderValue, String> {
        let _one = self.exchanging.lock().await;
        // Taken here: a newer one may have come meanwhile.
        let subject = self.person.get().ok_or("the caller's token has expired")?;
        match self.exchange.known(&subject) {
            Some(known) => Ok(known),
            None => {
                let exchanged = self.exchange.exchange(&subject).await;
                exchanged.map_err(|reason| format!("the caller's token cannot be exchanged: {reason}"))
            }
        }
    }

    async fn remedy(&self, refusal: AuthorizationRefusal) -> Remedy {
        match refusal.status {
            401 => {
                if let Some(shown) = &refusal.shown {
                    self.exchange.refused(shown);
                }
                if refusal.is_repeated {
                    self.is_failing.store(true, Ordering::Relaxed);
                    return Remedy::LogIn(LoginNeeded("it refuses the exchanged token".to_owned()));
                }
                match self.exchanged().await {
                    Ok(_) => Remedy::Retry,
                    Err(needed) => Remedy::LogIn(needed),
                }
            }
            403 => match Challenge::find(&refusal.challenges).filter(Challenge::is_insufficient_scope) {
                Some(challenge) => {
                    let (name, scopes) = (&self.exchange.server, scopes::shown(&challenge.scopes));
                    Remedy::MoreScopes(format!("needs {scopes}: add it to `mcpServers.{name}.auth.scopes`"))
                }
                None => Remedy::None,
            },
            _ => Remedy::None,
        }
    }
}

impl Credentials for ExchangeCredentials {
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        match self.person.get().and_then(|subject| self.exchange.known(&subject)) {
            Some(known) => Poll::Ready(Some(known)),
            None => Poll::Pending,
        }
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        async { self.exchanged().await.map(Some) }.boxed()
    }

    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        self.remedy(refusal).boxed()
    }

    /// Other processes have nothing to do with it.
    fn look_out(&self) {}

    /// Another token of the same person changes nothing, unless it is waited for.
    fn changed(&self) -> BoxFuture<'_, ()> {
        let mut newest = self.person.newest.subscribe();
        async move {
            while newest.changed().await.is_ok() {
                if newest.borrow().is_some() && self.is_failing.load(Ordering::Relaxed) {
                    return;
                }
            }
            std::future::pending().await
        }
        .boxed()
    }
}
