//! The credentials that an API expects, and whether a config has them.

use crate::document::Place;

/// Credentials that an API expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A key in a header with this name.
    Header(String),
    /// A key in the query, under this name.
    Query(String),
    Cookie(String),
    /// The header `Authorization` with this scheme, such as `Basic` or `Bearer`.
    Authorization(String),
    OAuth,
    OpenIdConnect,
    ClientCertificate,
}

impl Credential {
    pub(crate) fn read(scheme: Place<'_>) -> Option<Self> {
        let node = scheme.node;
        let name = || node.text_of("name").map(str::to_owned);
        Some(match (node.text_of("type")?, node.text_of("in")) {
            ("apiKey", Some("header")) => Credential::Header(name()?),
            ("apiKey", Some("query")) => Credential::Query(name()?),
            ("apiKey", Some("cookie")) => Credential::Cookie(name()?),
            ("http", _) => Credential::Authorization(capitalized(node.text_of("scheme")?)),
            ("oauth2", _) => Credential::OAuth,
            ("openIdConnect", _) => Credential::OpenIdConnect,
            ("mutualTLS", _) => Credential::ClientCertificate,
            _ => return None,
        })
    }

    /// Whether the config has it, by the headers that it sends with each request and the query of its URL.
    pub(crate) fn is_given(&self, given: &Given) -> bool {
        let has_header = |name: &str| given.headers.iter().any(|header| header.eq_ignore_ascii_case(name));
        match self {
            Credential::Header(name) => has_header(name),
            Credential::Query(name) => given.query.contains(name),
            Credential::Cookie(_) => has_header("cookie"),
            Credential::Authorization(_) | Credential::OAuth | Credential::OpenIdConnect => {
                given.has_auth || has_header("authorization")
            }
            // Set up outside of the proxy.
            Credential::ClientCertificate => true,
        }
    }

    /// How to configure it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Credential::Header(name) => format!("a key in the header `{name}` (`headers: {{{name}: ...}}`)"),
            Credential::Query(name) => format!("a key in the query (`url: https://...?{name}=...`)"),
            Credential::Cookie(name) => format!("the cookie `{name}` (`headers: {{Cookie: {name}=...}}`)"),
            Credential::Authorization(scheme) => {
                format!("`{scheme}` authorization (`headers: {{Authorization: {scheme} ...}}`)")
            }
            Credential::OAuth => "an OAuth token (`auth`, or the header `Authorization`)".to_owned(),
            Credential::OpenIdConnect => "an OpenID Connect token (`auth`, or the header `Authorization`)".to_owned(),
            Credential::ClientCertificate => "a client certificate".to_owned(),
        }
    }
}

fn capitalized(scheme: &str) -> String {
    let mut characters = scheme.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The credentials that a config has.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The names of headers that are sent with each request.
    pub headers: Vec<String>,
    /// The names in the query of the URL.
    pub query: Vec<String>,
    /// Whether there is an `auth`.
    pub has_auth: bool,
}
