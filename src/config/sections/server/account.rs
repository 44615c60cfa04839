//! As whom the proxy acts at a server, as far as the config decides it.

use super::{AuthConfig, IdToken, ResourceChoice};

impl AuthConfig {
    /// What decides as whom the proxy acts at the server and what it may do there. Empty if all of it is decided by who
    /// logs in.
    pub(super) fn account(&self) -> Vec<&str> {
        let (client, issuer, scopes, resource) = match self {
            AuthConfig::OAuth(oauth) => {
                let client = oauth.client.as_ref().map(|client| client.id.as_str());
                (client.or(oauth.client_metadata_url.as_deref()), &oauth.issuer, &oauth.scopes, &oauth.resource)
            }
            AuthConfig::ClientCredentials(own) => {
                (Some(own.client_id.as_str()), &own.issuer, &own.scopes, &own.resource)
            }
            AuthConfig::Enterprise(enterprise) => {
                (Some(enterprise.client.id.as_str()), &enterprise.issuer, &enterprise.scopes, &enterprise.resource)
            }
        };
        let kind = match self {
            AuthConfig::OAuth(_) => None,
            AuthConfig::ClientCredentials(_) => Some("clientCredentials"),
            AuthConfig::Enterprise(_) => Some("enterprise"),
        };
        let person = match self {
            AuthConfig::Enterprise(enterprise) => match &enterprise.id_token {
                IdToken::Text(token) => Some(token.reveal()),
                IdToken::File(path) => path.to_str(),
            },
            _ => None,
        };
        let resource = match resource {
            ResourceChoice::Auto => None,
            ResourceChoice::Uri(uri) => Some(uri.as_str()),
            ResourceChoice::None => Some("none"),
        };
        let named = [("kind", kind), ("client", client), ("issuer", issuer.as_deref())];
        let named = named.into_iter().chain([("resource", resource), ("person", person)]);
        let named = named.filter_map(|(name, value)| Some([name, value?])).flatten();
        named.chain(scopes.iter().flat_map(|scope| ["scope", scope.as_str()])).collect()
    }
}
