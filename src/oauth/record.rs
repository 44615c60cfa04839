//! The record of a log-in: everything that is needed to go on without the person who logged in.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::ClientKind;
use super::authorization_server::AuthorizationServer;
use crate::model::Secret;

/// The version of the form, so that it can change while older records are in use.
pub(super) const FORM: u32 = 1;

/// A token is renewed this long before it expires, or a tenth of its lifetime before if that is less.
const RENEW_AHEAD: u64 = 60;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) form: u32,
    pub(super) server_url: String,
    /// The `resource` of token requests, byte for byte; `None` to send none.
    pub(super) resource: Option<String>,
    pub(super) authorization_server: AuthorizationServer,
    pub(super) registration: Option<Registration>,
    pub(super) tokens: Option<Tokens>,
    /// What the last log-in asked for.
    pub(super) requested_scopes: Vec<String>,
    pub(super) granted_scopes: Vec<String>,
    /// What the server has asked for since then.
    pub(super) wanted_scopes: Vec<String>,
    /// How many log-ins in a row were made for scopes that the server asked for.
    pub(super) step_ups: u32,
    pub(super) last_error: Option<String>,
}

/// A client at the authorization server of the record, and at no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) kind: ClientKind,
    pub(super) client_id: String,
    #[serde(with = "optional_secret")]
    pub(super) client_secret: Option<Secret>,
    pub(super) method: AuthMethod,
    pub(super) redirect_uri: String,
    /// In seconds since 1970.
    pub(super) secret_expires_at: Option<u64>,
}

impl Registration {
    pub(super) fn is_expired(&self) -> bool {
        self.secret_expires_at.is_some_and(|end| end <= now())
    }
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AuthMethod {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl AuthMethod {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            AuthMethod::None => "none",
            AuthMethod::Basic => "client_secret_basic",
            AuthMethod::Post => "client_secret_post",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [AuthMethod::None, AuthMethod::Basic, AuthMethod::Post].into_iter().find(|method| method.as_str() == text)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    /// Tells this log-in from others; kept by renewals.
    pub(super) log_in: String,
    #[serde(with = "secret")]
    pub(super) access_token: Secret,
    #[serde(with = "optional_secret")]
    pub(super) refresh_token: Option<Secret>,
    /// In seconds since 1970.
    pub(super) obtained_at: u64,
    pub(super) expires_at: Option<u64>,
}

impl Tokens {
    /// When they are to be renewed; `None` if they do not expire.
    pub(super) fn renew_at(&self) -> Option<u64> {
        let end = self.expires_at?;
        let ahead = RENEW_AHEAD.min(end.saturating_sub(self.obtained_at) / 10);
        Some(end - ahead)
    }
}

/// What a token endpoint has given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grant {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) expires_in: Option<Duration>,
    /// `None` if the answer does not say: then it is what was asked for.
    pub(super) scopes: Option<Vec<String>>,
}

impl Grant {
    pub(super) fn expires_at(&self) -> Option<u64> {
        self.expires_in.map(|lifetime| now().saturating_add(lifetime.as_secs()))
    }
}

impl Record {
    pub(super) fn new(server_url: &str, authorization_server: AuthorizationServer, resource: Option<String>) -> Self {
        Record {
            form: FORM,
            server_url: server_url.to_owned(),
            resource,
            authorization_server,
            registration: None,
            tokens: None,
            requested_scopes: Vec::new(),
            granted_scopes: Vec::new(),
            wanted_scopes: Vec::new(),
            step_ups: 0,
            last_error: None,
        }
    }

    /// The record after a renewal. An answer without a refresh token keeps the old one (RFC 6749, 6).
    pub(super) fn renewed(&self, grant: Grant) -> Option<Record> {
        let old = self.tokens.clone()?;
        let expires_at = grant.expires_at();
        let tokens = Tokens {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(old.refresh_token),
            obtained_at: now(),
            expires_at,
            log_in: old.log_in,
        };
        let granted_scopes = grant.scopes.unwrap_or_else(|| self.granted_scopes.clone());
        Some(Record { tokens: Some(tokens), granted_scopes, last_error: None, ..self.clone() })
    }
}

/// In seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

pub(super) fn time_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(u64::from(u32::MAX)))
}

/// Secrets show themselves only to the record.
mod secret {
    use super::*;

    pub(super) fn serialize<S: serde::Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.reveal())
    }

    pub(super) fn deserialize<'a, D: serde::Deserializer<'a>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

mod optional_secret {
    use super::*;

    pub(super) fn serialize<S: serde::Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::reveal).serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: serde::Deserializer<'a>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(in crate::oauth) fn record() -> Record {
        let metadata = json!({"issuer": "https://as", "token_endpoint": "https://as/token"});
        let server = AuthorizationServer::parse(&metadata).unwrap();
        let tokens = Tokens {
            log_in: "1".into(),
            access_token: Secret::new("access-1"),
            refresh_token: Some(Secret::new("refresh-1")),
            obtained_at: 1000,
            expires_at: Some(4600),
        };
        let granted_scopes = vec!["read".to_owned()];
        Record { tokens: Some(tokens), granted_scopes, ..Record::new("https://h/mcp", server, None) }
    }

    fn grant(text: &str) -> Grant {
        Grant { access_token: Secret::new(text), refresh_token: None, expires_in: None, scopes: None }
    }

    #[test]
    fn a_record_reads_what_it_has_written_and_debug_shows_no_secret() {
        let record = record();
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains("access-1") && text.contains("refresh-1"));
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        let shown = format!("{record:?}");
        assert!(!shown.contains("access-1") && !shown.contains("refresh-1"), "{shown}");
    }

    #[test]
    fn a_token_is_renewed_a_minute_or_a_tenth_of_its_lifetime_ahead() {
        let of = |lifetime: u64| {
            let tokens = record().tokens.unwrap();
            Tokens { expires_at: Some(tokens.obtained_at + lifetime), ..tokens }.renew_at().unwrap() - 1000
        };
        assert_eq!((of(3600), of(300), of(10), of(0)), (3540, 270, 9, 0));
        assert_eq!(Tokens { expires_at: None, ..record().tokens.unwrap() }.renew_at(), None);
    }

    #[test]
    fn a_renewal_keeps_what_the_answer_does_not_say() {
        let renewed = record().renewed(grant("access-2")).unwrap();
        let tokens = renewed.tokens.unwrap();
        assert_eq!(tokens.access_token.reveal(), "access-2");
        assert_eq!(tokens.refresh_token, Some(Secret::new("refresh-1")));
        assert_eq!((tokens.log_in.as_str(), tokens.expires_at), ("1", None));
        assert_eq!(renewed.granted_scopes, ["read"]);
        let narrower = Grant { scopes: Some(Vec::new()), refresh_token: Some(Secret::new("refresh-2")), ..grant("a") };
        let renewed = record().renewed(narrower).unwrap();
        assert!(renewed.granted_scopes.is_empty());
        assert_eq!(renewed.tokens.unwrap().refresh_token, Some(Secret::new("refresh-2")));
    }
}
