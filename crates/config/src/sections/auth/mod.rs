//! `auth`: who may use the proxy over HTTP. Static tokens, the issuers whose tokens are accepted, and required scopes.

mod issuer;
mod realms;
mod scope_rules;
mod token;

use std::collections::HashSet;
use std::sync::Arc;

pub use issuer::{Algorithm, Introspection, IssuerConfig, SignIn};
pub use token::Token;

use indexmap::IndexMap;

use super::oauth_values::read_scope;
use super::profiles::ProfileAccess;
use super::serve::Serve;
use crate::syntax::reader::ValueReader;
use proxy_base::diagnostic::Diagnostic;
use proxy_model::ScopeRules;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Authentication {
    pub tokens: Vec<Token>,
    pub issuers: Vec<IssuerConfig>,
    /// The scopes that every token of an issuer must have.
    pub required_scopes: Vec<String>,
    /// The additional scopes that items require.
    pub scopes: Arc<ScopeRules>,
    /// Whether requests without a token are anonymous.
    pub allow_anonymous: bool,
    /// Who may use the profiles, by name.
    pub profiles: IndexMap<Arc<str>, Arc<ProfileAccess>>,
    /// Whether only the paths of profiles are served.
    pub requires_profile: bool,
}

impl Authentication {
    /// Whether no authentication is configured.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.issuers.is_empty()
    }
}

pub(crate) fn read_auth(reader: &ValueReader) -> Option<Authentication> {
    let mut fields = reader.fields()?;
    let mut seen = HashSet::new();
    let tokens = fields.read("tokens", |tokens| tokens.list(|item| token::read_token(item, &mut seen)));
    let issuers = fields.read("issuers", |issuers| issuers.list(issuer::read_issuer));
    let required = fields.get("requiredScopes");
    let required_scopes = required.as_ref().and_then(|scopes| scopes.list(read_scope));
    let scopes = fields.read("scopes", |scopes| scopes.list(scope_rules::read_rule));
    let anonymous = fields.get("allowAnonymous");
    let allow_anonymous = anonymous.as_ref().and_then(ValueReader::boolean);
    fields.finish();
    let auth = Authentication {
        tokens: tokens.unwrap_or_default(),
        issuers: issuers.unwrap_or_default(),
        required_scopes: required_scopes.unwrap_or_default(),
        scopes: Arc::new(ScopeRules::new(scopes.unwrap_or_default())),
        allow_anonymous: allow_anonymous.unwrap_or_default(),
        ..Authentication::default()
    };
    realms::problems(&auth).into_iter().for_each(|problem| reader.report(problem));
    if let Some(required) = required.filter(|_| !auth.required_scopes.is_empty()) {
        if auth.issuers.is_empty() {
            return required.fail("has no effect without `auth.issuers`: static tokens are exempt");
        }
        if auth.allow_anonymous {
            return required.fail("conflicts with `allowAnonymous`: a request without a token has no scopes");
        }
    }
    if let Some(anonymous) = anonymous.filter(|_| auth.allow_anonymous && auth.is_empty()) {
        return anonymous.fail("has no effect without `tokens` or `issuers`: every client is anonymous");
    }
    Some(auth)
}

/// An error if `auth.issuers` is set but the expected audience is unknown: there is no `serve.publicUrl`, and the proxy does
/// not listen on loopback.
pub(crate) fn missing_public_url(auth: &Authentication, serve: &Serve) -> Option<Diagnostic> {
    let issuer = auth.issuers.first()?;
    if serve.public_url.is_some() || is_loopback(&serve.http) {
        return None;
    }
    let problem = Diagnostic::error("`auth.issuers` needs `serve.publicUrl`: tokens are checked against it");
    let mut problem = problem.hint("set it to the URL that clients use, such as `https://mcp.example.com/mcp`");
    problem.place = issuer.place.clone();
    Some(problem)
}

/// Whether an address with a port is one of this machine.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
