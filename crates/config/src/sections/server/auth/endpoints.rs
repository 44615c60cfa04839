//! Where to log in, if the authorization server publishes no metadata.

use url::Url;

use super::own_keys::{AuthKind, OwnKeys};
use super::types::OAuthEndpoints;
use crate::sections::oauth_values::{read_page_url, read_url};
use crate::syntax::reader::{Fields, ValueReader};

/// The types with a token endpoint of their own.
const WITH_TOKEN_URL: [AuthKind; 3] = [AuthKind::OAuth, AuthKind::ClientCredentials, AuthKind::TokenExchange];

/// What only metadata or a registration gives a meaning.
const KEYS_OF_METADATA: [&str; 3] = ["clientMetadataUrl", "register", "requirePkceMetadata"];

/// `authorizationUrl` and `tokenUrl`, as they are written.
pub(super) struct EndpointKeys {
    authorization: Option<String>,
    token: Option<String>,
    /// Whether a key was there and was wrong, which was reported then.
    is_wrong: bool,
}

impl EndpointKeys {
    pub(super) fn read<'a>(fields: &mut Fields<'a>, own: &mut OwnKeys<'a>) -> Self {
        let mut is_wrong = false;
        let mut noted = |value: Option<String>| {
            is_wrong |= value.is_none();
            value
        };
        let authorization =
            own.read(fields, AuthKind::OAuth, "authorizationUrl", |reader| noted(read_page_url(reader)));
        let token = own.read_shared(fields, &WITH_TOKEN_URL, "tokenUrl", |reader| noted(read_url(reader)));
        EndpointKeys { authorization, token, is_wrong }
    }

    /// The endpoint of a token exchange.
    pub(super) fn token(self) -> Option<String> {
        self.token
    }

    /// Where people log in. The outer `None` means that something is missing or wrong.
    pub(super) fn of_people(self, auth: &ValueReader<'_>) -> Option<Option<OAuthEndpoints>> {
        match (self.authorization, self.token) {
            _ if self.is_wrong => None,
            (None, None) => Some(None),
            (authorization @ Some(_), Some(token)) => Some(Some(OAuthEndpoints { authorization, token })),
            (Some(_), None) => auth.fail("missing key `tokenUrl`: it belongs to `authorizationUrl`"),
            (None, Some(_)) => auth.fail("missing key `authorizationUrl`: it belongs to `tokenUrl`"),
        }
    }

    /// Where the proxy logs in as itself.
    pub(super) fn of_machine(self) -> Option<Option<OAuthEndpoints>> {
        if self.is_wrong {
            return None;
        }
        Some(self.token.map(|token| OAuthEndpoints { authorization: None, token }))
    }
}

impl OAuthEndpoints {
    /// What the authorization server is called, if the config does not say. People are sent back with the name of the
    /// server whose page they saw; an assertion is for whoever reads it.
    pub(super) fn default_issuer(&self) -> String {
        let Some(page) = &self.authorization else { return self.token.clone() };
        Url::parse(page).map_or_else(|_| page.clone(), |page| page.origin().ascii_serialization())
    }
}

/// Reports the keys that mean nothing beside endpoints.
pub(super) fn refuse_keys_of_metadata(fields: &mut Fields<'_>) {
    for key in KEYS_OF_METADATA {
        if let Some(reader) = fields.get(key) {
            let problem = "has no effect with `authorizationUrl`: nothing is read from metadata";
            reader.report(reader.problem(problem).at(reader.place()));
        }
    }
}
