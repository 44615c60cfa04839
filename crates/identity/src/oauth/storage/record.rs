//! The record of a log-in: everything that is needed to go on without the person who logged in.

use http::HeaderValue;
use serde::{Deserialize, Serialize};

use super::realm_name;
use crate::oauth::terms::secret_fields::{optional_secret, secret};
use crate::oauth::terms::{AuthorizationServer, Grant, Registration, bearer, renew_at};
use crate::oauth::unix_time::now;
use proxy_model::{Realm, Secret, Who};

/// The version of the form, so that it can change while older records are in use.
pub(crate) const FORM: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogInRecord {
    pub(crate) form: u32,
    /// The entry of the config that it belongs to.
    pub(crate) entry: String,
    /// Whose log-in it is, as scripts see the name; empty if it is everybody's, or no log-in but the client of the entry.
    pub(crate) person: String,
    /// Where the person is known from, as [`super::realm_name`] writes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) realm: String,
    pub(crate) server_url: String,
    /// The `resource` of token requests, byte for byte; `None` to send none.
    pub(crate) resource: Option<String>,
    pub(crate) authorization_server: AuthorizationServer,
    pub(crate) registration: Option<Registration>,
    pub(crate) tokens: Option<Tokens>,
    /// What the last log-in asked for.
    pub(crate) requested_scopes: Vec<String>,
    pub(crate) granted_scopes: Vec<String>,
    /// What the server has asked for since then.
    pub(crate) wanted_scopes: Vec<String>,
    /// How many log-ins in a row were made for scopes that the server asked for.
    pub(crate) step_ups: u32,
    pub(crate) last_error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    /// Tells this log-in from others; kept by renewals.
    pub(crate) log_in: String,
    #[serde(with = "secret")]
    pub(crate) access_token: Secret,
    #[serde(with = "optional_secret")]
    pub(crate) refresh_token: Option<Secret>,
    /// In seconds since 1970.
    pub(crate) obtained_at: u64,
    pub(crate) expires_at: Option<u64>,
    /// Whether the server has refused the access token, and nothing but another log-in helps.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) refused: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Tokens {
    /// The value of `Authorization`.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        bearer(&self.access_token)
    }

    /// When they are to be renewed; `None` if they do not expire.
    pub(crate) fn renew_at(&self) -> Option<u64> {
        renew_at(self.obtained_at, self.expires_at)
    }
}

impl LogInRecord {
    pub(crate) fn new(
        entry: &str,
        server_url: &str,
        authorization_server: AuthorizationServer,
        resource: Option<String>,
    ) -> Self {
        LogInRecord {
            form: FORM,
            entry: entry.to_owned(),
            person: String::new(),
            realm: String::new(),
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

    /// The same record of a person.
    #[must_use]
    pub(crate) fn of_person(self, who: Option<&Who>) -> Self {
        let (person, realm) = who.map_or(("", ""), |who| (&*who.sub, realm_name(&who.realm)));
        LogInRecord { person: person.to_owned(), realm: realm.to_owned(), ..self }
    }

    /// Whose log-in it is; `None` if it is everybody's.
    pub(crate) fn who(&self) -> Option<Who> {
        let realm = match self.realm.as_str() {
            "" => return None,
            "local" => Realm::Local,
            "static" => Realm::Static,
            issuer => Realm::Issuer(issuer.into()),
        };
        Some(Who { realm, sub: self.person.as_str().into() })
    }

    /// Whether it is the log-in of this person.
    pub(crate) fn is_of(&self, who: &Who) -> bool {
        self.person == *who.sub && self.realm == realm_name(&who.realm)
    }

    /// Whether it has neither a client, nor a log-in, nor anything that the next log-in has to know.
    pub(crate) fn says_nothing(&self) -> bool {
        self.registration.is_none()
            && self.tokens.is_none()
            && self.requested_scopes.is_empty()
            && self.wanted_scopes.is_empty()
            && self.last_error.is_none()
    }

    /// The record after a renewal. An answer without a refresh token keeps the old one (RFC 6749, 6).
    pub(crate) fn renewed(&self, grant: Grant) -> Option<LogInRecord> {
        let old = self.tokens.clone()?;
        let expires_at = grant.expires_at();
        let tokens = Tokens {
            access_token: grant.access_token,
            refresh_token: grant.refresh_token.or(old.refresh_token),
            obtained_at: now(),
            expires_at,
            log_in: old.log_in,
            refused: false,
        };
        let granted_scopes = grant.scopes.unwrap_or_else(|| self.granted_scopes.clone());
        Some(LogInRecord { tokens: Some(tokens), granted_scopes, last_error: None, ..self.clone() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn record() -> LogInRecord {
        let metadata = json!({"issuer": "https://as", "token_endpoint": "https://as/token"});
        let server = AuthorizationServer::parse(&metadata).unwrap();
        let tokens = Tokens {
            log_in: "1".into(),
            access_token: Secret::new("access-1"),
            refresh_token: Some(Secret::new("refresh-1")),
            obtained_at: 1000,
            expires_at: Some(4600),
            refused: false,
        };
        let granted_scopes = vec!["read".to_owned()];
        LogInRecord { tokens: Some(tokens), granted_scopes, ..LogInRecord::new("h", "https://h/mcp", server, None) }
    }

    fn grant(text: &str) -> Grant {
        Grant { access_token: Secret::new(text), refresh_token: None, expires_in: None, scopes: None }
    }

    #[test]
    fn a_record_reads_what_it_has_written_and_debug_shows_no_secret() {
        let record = record();
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains("access-1") && text.contains("refresh-1"));
        assert_eq!(serde_json::from_str::<LogInRecord>(&text).unwrap(), record);
        let shown = format!("{record:?}");
        assert!(!shown.contains("access-1") && !shown.contains("refresh-1"), "{shown}");
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
