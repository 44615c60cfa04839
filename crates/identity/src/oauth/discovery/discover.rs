//! Finds the authorization server of a server.

use url::Url;

use super::challenge::Challenge;
use super::documents::Document;
use super::resource_metadata::ResourceMetadata;
use crate::oauth::LogInError;
use crate::oauth::terms::AuthorizationServer;
use proxy_base::foreign_text::quoted;
use proxy_config::OAuthEndpoints;
use proxy_wire::http::{Fetcher, Reach, is_same_issuer, issuer_metadata_urls};

/// What is known of a server that wants a log-in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Discovered {
    /// As the metadata of the server write it; `None` if there are none.
    pub(crate) resource: Option<String>,
    /// The scopes that the metadata of the server name.
    pub(crate) scopes: Vec<String>,
    pub(crate) authorization_server: AuthorizationServer,
}

pub(crate) struct Discovery<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) reach: Reach,
    pub(crate) server: &'a Url,
    /// The only authorization server to use, if the config names one.
    pub(crate) issuer: Option<&'a str>,
    /// Where that is, if the config says it: then nobody is asked.
    pub(crate) endpoints: Option<&'a OAuthEndpoints>,
}

impl Discovery<'_> {
    pub(crate) async fn run(&self, challenge: Option<&Challenge>) -> Result<Discovered, LogInError> {
        if let (Some(issuer), Some(endpoints)) = (self.issuer, self.endpoints) {
            let authorization_server = AuthorizationServer::configured(issuer, endpoints);
            self.check_endpoints(&authorization_server).map_err(|reason| {
                LogInError::Metadata(format!("`authorizationUrl` or `tokenUrl` cannot be used: {reason}"))
            })?;
            return Ok(Discovered { resource: None, scopes: Vec::new(), authorization_server });
        }
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
                        "its metadata names {}, but this client is registered with `{configured}` (`auth.issuer`)",
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
                    let found = ResourceMetadata::parse(&document, self.server)?;
                    let nothing = "the metadata URL that the server names has no metadata".to_owned();
                    return found.map(Some).ok_or(LogInError::Metadata(nothing));
                }
                Document::Absent => {}
                Document::Failed(reason) => failure = Some(reason),
            }
        }
        for url in ResourceMetadata::candidates(self.server) {
            match self.document(&url).await? {
                Document::Found(document) => {
                    // If there is one, it is the one: no other place is asked even if it cannot be used.
                    if let Some(found) = ResourceMetadata::parse(&document, self.server)? {
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

    /// The metadata of an authorization server.
    pub(crate) async fn authorization_server(&self, issuer: &str) -> Result<AuthorizationServer, LogInError> {
        let Ok(url) = Url::parse(issuer) else {
            return Err(LogInError::Metadata(format!("{} is not the URL of an authorization server", quoted(issuer))));
        };
        let mut failure = None;
        for url in issuer_metadata_urls(&url) {
            match self.document(&url).await? {
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
            None => LogInError::Metadata(format!("{issuer} has no authorization server metadata")),
        })
    }

    /// Checks that a document is that of the issuer it was found for (RFC 8414, 3.3), and where it would send tokens.
    fn of_issuer(&self, issuer: &str, found: AuthorizationServer) -> Result<AuthorizationServer, LogInError> {
        if !is_same_issuer(&found.issuer, issuer) {
            return Err(LogInError::Metadata(format!(
                "the metadata of {} belongs to another issuer, {}",
                quoted(issuer),
                quoted(&found.issuer)
            )));
        }
        match self.check_endpoints(&found) {
            Ok(()) => Ok(found),
            Err(reason) => {
                let text = format!("the metadata of {} cannot be used: {reason}", quoted(issuer));
                Err(LogInError::Metadata(text))
            }
        }
    }

    /// Checks where an authorization server would send tokens.
    fn check_endpoints(&self, server: &AuthorizationServer) -> Result<(), String> {
        for endpoint in server.endpoints() {
            let url = Url::parse(endpoint).map_err(|_| "an endpoint is not a valid URL".to_owned())?;
            self.reach.check(&url).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    async fn document(&self, url: &Url) -> Result<Document, LogInError> {
        Document::fetch(self.fetcher, self.reach, url).await
    }
}
