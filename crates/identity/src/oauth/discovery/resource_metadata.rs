//! The metadata of a protected resource (RFC 9728).

use serde_json::Value;
use url::Url;

use super::documents::at;
use crate::oauth::LogInError;
use crate::oauth::terms::texts;
use proxy_base::foreign_text::quoted;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[derive(Debug, Default)]
pub(super) struct ResourceMetadata {
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) issuers: Vec<String>,
}

impl ResourceMetadata {
    /// Where the metadata of a server may be, in the order in which they are asked for.
    pub(super) fn candidates(server: &Url) -> Vec<Url> {
        let path = server.path().trim_end_matches('/');
        let mut candidates = vec![at(server, &format!("{WELL_KNOWN}{path}"))];
        if !path.is_empty() {
            candidates.push(at(server, WELL_KNOWN));
        }
        candidates
    }

    /// The metadata, if a document is metadata, and of this server: the server itself or a path above it.
    pub(super) fn parse(document: &Value, server: &Url) -> Result<Option<Self>, LogInError> {
        let (resource, issuers) = (document.get("resource"), document.get("authorization_servers"));
        if resource.is_none() && issuers.is_none() {
            return Ok(None);
        }
        let Some(resource) = resource.and_then(Value::as_str) else {
            return Err(LogInError::Metadata("the server metadata has no `resource`".to_owned()));
        };
        if !Url::parse(resource).is_ok_and(|resource| is_above(&resource, server)) {
            return Err(LogInError::Metadata(format!(
                "the metadata belongs to another resource, {}, not to the server",
                quoted(resource)
            )));
        }
        Ok(Some(ResourceMetadata {
            resource: Some(resource.to_owned()),
            scopes: texts(document.get("scopes_supported")).unwrap_or_default(),
            issuers: texts(issuers).unwrap_or_default(),
        }))
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
