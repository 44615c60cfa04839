//! What `proxy login --list` says about a server.

use super::{ClientKind, LogInDescription, LogInKind, LogInState};
use crate::oauth::storage::LogInRecord;
use crate::oauth::subject::Subject;
use crate::oauth::unix_time::{now, time_of};
use crate::oauth::{LogInError, scopes};
use proxy_config::AuthConfig;

/// A server at which nobody logs in: the proxy does as itself, or shows what it got for the token of each caller.
pub(crate) fn of_machine(auth: &AuthConfig) -> LogInDescription {
    let (kind, issuer, scopes) = match auth {
        AuthConfig::ClientCredentials(auth) => (LogInKind::ClientCredentials, auth.issuer.clone(), &auth.scopes[..]),
        AuthConfig::Enterprise(auth) => (LogInKind::Enterprise, auth.issuer.clone(), &auth.scopes[..]),
        AuthConfig::TokenExchange(auth) => (LogInKind::TokenExchange, auth.subject_issuer.clone(), &auth.scopes[..]),
        AuthConfig::OAuth(auth) => (LogInKind::OAuth, auth.issuer.clone(), &auth.scopes[..]),
        AuthConfig::Signed(auth) => (LogInKind::Signed, Some(auth.issuer.clone()), &[][..]),
    };
    LogInDescription {
        kind,
        state: LogInState::NotNeeded,
        issuer,
        client: Some(ClientKind::Configured),
        scopes: scopes.to_vec(),
        wanted_scopes: Vec::new(),
        expires_at: None,
        refreshable: true,
        last_error: None,
        what_to_do: None,
    }
}

/// A server at which a person logs in.
pub(crate) fn of_person(subject: &Subject, stored: Result<Option<LogInRecord>, LogInError>) -> LogInDescription {
    let (record, problem) = match stored {
        Ok(record) => (record, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let tokens = record.as_ref().and_then(|record| record.tokens.as_ref());
    let refreshable = tokens.is_some_and(|tokens| tokens.refresh_token.is_some());
    let expired = tokens.and_then(|tokens| tokens.expires_at).is_some_and(|end| end <= now());
    let state = match tokens {
        Some(tokens) if !tokens.refused && (!expired || refreshable) => LogInState::LoggedIn,
        None if !subject.declared && record.is_none() && problem.is_none() => LogInState::NotNeeded,
        _ => LogInState::LogInNeeded,
    };
    let declared = subject.declared || record.is_some();
    let wanted_scopes = record.as_ref().map(|record| record.wanted_scopes.clone()).unwrap_or_default();
    let what_to_do = match state {
        _ if problem.is_some() => None,
        LogInState::LogInNeeded => Some(subject.advice()),
        _ if !wanted_scopes.is_empty() => {
            Some(format!("needs {}: {}", scopes::shown(&wanted_scopes), subject.advice()))
        }
        _ => None,
    };
    let client = record.as_ref().and_then(|record| record.registration.as_ref()).map(|client| client.kind);
    LogInDescription {
        kind: if declared { LogInKind::OAuth } else { LogInKind::Undeclared },
        state,
        issuer: record
            .as_ref()
            .map(|record| record.authorization_server.issuer.clone())
            .or_else(|| subject.config.issuer.clone()),
        client: client.or_else(|| subject.config.client.as_ref().map(|_| ClientKind::Configured)),
        scopes: record.as_ref().map(|record| record.granted_scopes.clone()).unwrap_or_default(),
        wanted_scopes,
        expires_at: tokens.and_then(|tokens| tokens.expires_at).map(time_of),
        refreshable,
        last_error: problem.or_else(|| record.as_ref().and_then(|record| record.last_error.clone())),
        what_to_do,
    }
}
