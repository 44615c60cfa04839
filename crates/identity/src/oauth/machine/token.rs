//! A token that the proxy fetches for itself, and why there may be none.

use std::sync::Arc;

use http::HeaderValue;

use crate::oauth::LogInError;
use crate::oauth::discovery::Discovered;
use crate::oauth::exchange::ExchangeError;
use crate::oauth::terms::{Grant, bearer, renew_at};
use crate::oauth::unix_time::now;
use proxy_wire::http::{Fetcher, Reach};

/// What a token request needs to know.
pub(super) struct TokenRequest<'a> {
    pub(super) fetcher: &'a Arc<Fetcher>,
    pub(super) server_url: &'a str,
    pub(super) discovered: &'a Discovered,
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) reach: Reach,
}

/// Why there is no token.
#[derive(Clone, Debug)]
pub(super) enum NoToken {
    /// Somebody has to do something.
    Refused(String),
    /// The server has not been asked yet, and it may say where the authorization server is.
    Unknown(String),
    Later(String),
}

impl From<ExchangeError> for NoToken {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Refused { text, .. } => NoToken::Refused(text),
            ExchangeError::Failed(text) => NoToken::Later(text),
        }
    }
}

impl From<LogInError> for NoToken {
    fn from(error: LogInError) -> Self {
        match error {
            LogInError::Unreachable(text) => NoToken::Later(text),
            other => NoToken::Unknown(other.to_string()),
        }
    }
}

#[derive(Debug)]
pub(super) struct FetchedToken {
    pub(super) header: HeaderValue,
    renew_at: Option<u64>,
}

impl FetchedToken {
    pub(super) fn new(grant: &Grant) -> Option<Self> {
        let renew_at = renew_at(now(), grant.expires_at());
        Some(FetchedToken { header: bearer(&grant.access_token)?, renew_at })
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| now() < renew_at)
    }
}
