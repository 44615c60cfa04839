//! What this process knows of a log-in.

use std::sync::Arc;

use http::HeaderValue;

use crate::oauth::storage::{LogInRecord, Tokens};
use crate::oauth::unix_time::now;

/// What is known of the log-in.
#[derive(Default)]
pub(super) struct KnownLogIn {
    pub(super) loaded: bool,
    /// What is used.
    pub(super) record: Option<Arc<LogInRecord>>,
    /// What the storage is known to have: another record if the last one could not be saved.
    pub(super) stored: Option<Arc<LogInRecord>>,
    /// The value of `Authorization`, ready to be sent.
    pub(super) header: Option<HeaderValue>,
    renew_at: Option<u64>,
}

impl KnownLogIn {
    pub(super) fn new(record: Option<Arc<LogInRecord>>, stored: Option<Arc<LogInRecord>>) -> Self {
        let tokens = record.as_ref().and_then(|record| record.tokens.as_ref());
        let header = tokens.and_then(Tokens::header);
        let renew_at = tokens.and_then(Tokens::renew_at);
        KnownLogIn { loaded: true, header, renew_at, record, stored }
    }

    /// The header, if it is not to be renewed yet.
    pub(super) fn fresh(&self) -> Option<&HeaderValue> {
        self.header.as_ref().filter(|_| self.renew_at.is_none_or(|renew_at| now() < renew_at))
    }

    /// Whether it is known that nobody has logged in.
    pub(super) fn is_none(&self) -> bool {
        self.loaded && self.record.is_none()
    }

    /// Identifies the log-in, whatever is renewed of it.
    pub(super) fn log_in(&self) -> Option<String> {
        let tokens = self.record.as_ref()?.tokens.as_ref()?;
        Some(tokens.log_in.clone())
    }

    /// Why the log-in that there was is of no use any more.
    pub(super) fn why_ended(&self) -> Option<String> {
        let record = self.record.as_ref()?;
        match (&record.tokens, &record.last_error) {
            (None, Some(error)) => Some(format!("the last log-in has ended: {error}")),
            (Some(tokens), _) if tokens.refused => {
                Some("the last log-in has ended, and could not be renewed".to_owned())
            }
            _ => None,
        }
    }

    pub(super) fn is_renewable(&self) -> bool {
        let tokens = self.record.as_ref().and_then(|record| record.tokens.as_ref());
        tokens.is_some_and(|tokens| tokens.refresh_token.is_some())
    }
}
