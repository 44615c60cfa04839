//! Finds out which authorization server a server trusts, and what that one says about itself.
//!
//! rmcp has a resolver too. It does not tell the `resource` that it found, which every later request has to repeat byte
//! for byte; it asks at places that must not be asked (the root document of an issuer with a path, the server itself); it
//! guesses endpoints; and one candidate with an error of its own ends the search.

use http::{Request, header::ACCEPT};
use serde_json::Value;
use url::Url;

use super::authorization_server::{AuthorizationServer, is_same_issuer};
use super::{Challenge, LogInError};
use crate::foreign_text::visible;
use crate::wire::http::{FetchError, Fetcher, Reach};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// What is known of a server that wants a log-in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Discovered {
    /// As the metadata of the server write it; `None` if there are none.
    pub(super) resource: Option<String>,
    /// The scopes that the metadata of the server name.
    pub(super) scopes: Vec<String>,
    pub(super) authorization_server: AuthorizationServer,
}

/// The metadata of a protected resource (RFC 9728).
#[derive(Debug, Default)]
struct ResourceMetadata {
    resource: Option<String>,
    scopes: Vec<String>,
    issuers: Vec<String>,
}

pub(super) struct Discovery<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) reach: Reach,
    pub(super) server: &'a Url,
    /// The only authorization server to use, if the config names one.
    pub(super) issuer: Option<&'a str>,
}

enum Document {
    Found(Value),
    Absent,
    /// Nobody can say whether it is there.
    Failed(String),
}

impl Discovery<'_> {
    pub(super) async fn run(&self, challenge: Option<&Challenge>) -> Result<Discovered, LogInError> {
        let resource = self.resource_metadata(challenge).await?.unwrap_or_default();
        let issuers = self.issuers(&resource)?;
        let mut problem = None;
        for issuer in &issuers {
            match self.authorization_server(issuer).await {
                Ok(authorization_server) => {
                    let ResourceMetadata { resource, scopes, .. } = resource;
                    return Ok(Discovered { resource, scopes, authorization_server });
                }
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        Err(problem.unwrap_or_else(|| LogInError::Metadata("the server names no authorization server".to_owned())))
    }

    /// The authorization servers to try, in this order.
    fn issuers(&self, resource: &ResourceMetadata) -> Result<Vec<String>, LogInError> {
        match self.issuer {
            // A client ID, and a token, are shown only to the authorization server that gave them.
            Some(configured) => {
                let named = |issuer: &&String| is_same_issuer(issuer, configured);
                if resource.issuers.is_empty() {
                    return Ok(vec![configured.to_owned()]);
                }
                resource.issuers.iter().find(named).map(|issuer| vec![issuer.clone()]).ok_or_else(|| {
                    let names: Vec<String> = resource.issuers.iter().map(|issuer| quoted(issuer)).collect();
                    LogInError::Metadata(format!(
                        "its metadata name {}, this client is registered with `{configured}` (`auth.issuer`)",
                        names.join(", ")
                    ))
                })
            }
            // Servers of 2025-03-26 have no metadata of their own: their authorization server is at their origin.
            None if resource.issuers.is_empty() => Ok(vec![self.server.origin().ascii_serialization()]),
            None => Ok(resource.issuers.clone()),
        }
    }

    async fn resource_metadata(&self, challenge: Option<&Challenge>) -> Result<Option<ResourceMetadata>, LogInError> {
        let mut failure = None;
        if let Some(named) = challenge.and_then(|challenge| challenge.resource_metadata.as_deref()) {
            let invalid = || LogInError::Metadata("the server names an invalid URL for its metadata".to_owned());
            let url = self.server.join(named).map_err(|_| invalid())?;
            match self.document(&url).await? {
                Document::Found(document) => {
                    let found = self.checked(&document)?;
                    let nothing = "what the server names as its metadata are none".to_owned();
                    return found.map(Some).ok_or(LogInError::Metadata(nothing));
                }
                Document::Absent => {}
                Document::Failed(reason) => failure = Some(reason),
            }
        }
        for url in self.resource_candidates() {
            match self.document(&url).await? {
                Document::Found(document) => {
                    // If there is one, it is the one: no other place is asked even if it cannot be used.
                    if let Some(found) = self.checked(&document)? {
                        return Ok(Some(found));
                    }
                }
                Document::Absent => {}
                Document::Failed(reason) => failure = failure.or(Some(reason)),
            }
        }
        // A document that could not be read may name another authorization server than the origin.
        match failure {
            Some(reason) => Err(LogInError::Unreachable(format!("cannot read the metadata of the server: {reason}"))),
            None => Ok(None),
        }
    }

    fn resource_candidates(&self) -> Vec<Url> {
        let path = self.server.path().trim_end_matches('/');
        let mut candidates = vec![self.at(self.server, &format!("{RESOURCE}{path}"))];
        if !path.is_empty() {
            candidates.push(self.at(self.server, RESOURCE));
        }
        candidates
    }

    fn at(&self, base: &Url, path: &str) -> Url {
        let mut url = base.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(path);
        url
    }

    /// The metadata, if it is metadata, and of this server: the server itself or a path above it.
    fn checked(&self, document: &Value) -> Result<Option<ResourceMetadata>, LogInError> {
        let (resource, issuers) = (document.get("resource"), document.get("authorization_servers"));
        if resource.is_none() && issuers.is_none() {
            return Ok(None);
        }
        let texts = |value: Option<&Value>| {
            let values = value.and_then(Value::as_array).into_iter().flatten();
            values.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let Some(resource) = resource.and_then(Value::as_str) else {
            return Err(LogInError::Metadata("the metadata of the server have no `resource`".to_owned()));
        };
        if !Url::parse(resource).is_ok_and(|resource| is_above(&resource, self.server)) {
            return Err(LogInError::Metadata(format!(
                "the metadata are those of another resource, {}, not of the server",
                quoted(resource)
            )));
        }
        let scopes = texts(document.get("scopes_supported"));
        Ok(Some(ResourceMetadata { resource: Some(resource.to_owned()), scopes, issuers: texts(issuers) }))
    }

    async fn authorization_server(&self, issuer: &str) -> Result<AuthorizationServer, LogInError> {
        let Ok(url) = Url::parse(issuer) else {
            return Err(LogInError::Metadata(format!("{} is not the URL of an authorization server", quoted(issuer))));
        };
        let path = url.path().trim_end_matches('/');
        let paths = match path {
            "" => vec![OAUTH.to_owned(), OPENID.to_owned()],
            path => vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}"), format!("{path}{OPENID}")],
        };
        let mut failure = None;
        for path in paths {
            match self.document(&self.at(&url, &path)).await? {
                Document::Found(document) => {
                    if let Some(found) = AuthorizationServer::parse(&document) {
                        return self.of_issuer(issuer, found);
                    }
                }
                Document::Absent => {}
                Document::Failed(reason) => failure = failure.or(Some(reason)),
            }
        }
        let issuer = quoted(issuer);
        Err(match failure {
            Some(reason) => LogInError::Unreachable(format!("cannot read the metadata of {issuer}: {reason}")),
            None => LogInError::Metadata(format!("{issuer} has no metadata of an authorization server")),
        })
    }

    /// Checks that a document is that of the issuer it was found for (RFC 8414, 3.3), and where it would send tokens.
    fn of_issuer(&self, issuer: &str, found: AuthorizationServer) -> Result<AuthorizationServer, LogInError> {
        if !is_same_issuer(&found.issuer, issuer) {
            return Err(LogInError::Metadata(format!(
                "the metadata of {} are those of another issuer, {}",
                quoted(issuer),
                quoted(&found.issuer)
            )));
        }
        for endpoint in found.endpoints() {
            let checked = Url::parse(endpoint).map_err(|_| "an endpoint is not a valid URL".to_owned());
            let checked = checked.and_then(|url| self.reach.check(&url).map_err(|error| error.to_string()));
            if let Err(reason) = checked {
                let text = format!("the metadata of {} cannot be used: {reason}", quoted(issuer));
                return Err(LogInError::Metadata(text));
            }
        }
        Ok(found)
    }

    async fn document(&self, url: &Url) -> Result<Document, LogInError> {
        let request = Request::get(url.as_str()).header(ACCEPT, "application/json").body(Vec::new());
        let request = request.map_err(|_| LogInError::Metadata("the metadata have an invalid URL".to_owned()))?;
        let response = match self.fetcher.fetch(self.reach, request).await {
            Ok(response) => response,
            Err(FetchError::Refused(reason)) => {
                return Err(LogInError::Metadata(format!("metadata are not fetched: {reason}")));
            }
            Err(FetchError::Failed(reason)) => return Ok(Document::Failed(reason)),
        };
        let status = response.status();
        if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
            return Ok(Document::Failed(format!("HTTP {}", status.as_u16())));
        }
        let document = serde_json::from_slice(response.body()).ok().filter(|_| status.as_u16() == 200);
        // Some servers answer everything with a page.
        Ok(document.filter(Value::is_object).map_or(Document::Absent, Document::Found))
    }
}

/// Whether a resource is this URL or above it, on the same origin.
fn is_above(resource: &Url, url: &Url) -> bool {
    let (above, path) = (resource.path().trim_end_matches('/'), url.path());
    let rest = path.strip_prefix(above);
    resource.fragment().is_none()
        && resource.origin() == url.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A text of a server, in the backticks of our own texts.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 200;
    let short: String = text.chars().take(LONGEST).collect();
    format!("`{}`", visible(&short).replace('`', "'"))
}

#[cfg(test)]
mod tests;
