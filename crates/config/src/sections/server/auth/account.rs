//! What `auth` determines: the account that the proxy uses at a server, and the secrets to mask.

use super::types::{AuthConfig, ClientCredentialsConfig, ClientProof, IdToken, OAuthConfig, ResourceChoice};
use proxy_model::Secret;

impl AuthConfig {
    /// The settings that determine the account and its rights at the server. Empty if only the person who logs in determines
    /// them.
    pub(in crate::sections::server) fn account(&self) -> Vec<&str> {
        const NO_ISSUER: Option<String> = None;
        let (client, issuer, scopes, resource) = match self {
            AuthConfig::OAuth(oauth) => {
                let client = oauth.client.as_ref().map(|client| client.id.as_str());
                (client.or(oauth.client_metadata_url.as_deref()), &oauth.issuer, &oauth.scopes[..], &oauth.resource)
            }
            AuthConfig::ClientCredentials(own) => {
                (Some(own.client_id.as_str()), &own.issuer, &own.scopes[..], &own.resource)
            }
            AuthConfig::Enterprise(enterprise) => {
                (Some(enterprise.client.id.as_str()), &enterprise.issuer, &enterprise.scopes[..], &enterprise.resource)
            }
            AuthConfig::Signed(_) => (None, &NO_ISSUER, &[][..], &ResourceChoice::Auto),
            AuthConfig::TokenExchange(exchange) => {
                (Some(exchange.client.id.as_str()), &NO_ISSUER, &exchange.scopes[..], &exchange.resource)
            }
        };
        let kind = match self {
            AuthConfig::OAuth(_) => None,
            AuthConfig::ClientCredentials(_) => Some("clientCredentials"),
            AuthConfig::Enterprise(_) => Some("enterprise"),
            AuthConfig::TokenExchange(_) => Some("tokenExchange"),
            AuthConfig::Signed(_) => Some("signed"),
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
        let endpoints = match self {
            AuthConfig::OAuth(OAuthConfig { endpoints, .. })
            | AuthConfig::ClientCredentials(ClientCredentialsConfig { endpoints, .. }) => endpoints.as_ref(),
            _ => None,
        };
        let token_url = endpoints.map(|endpoints| endpoints.token.as_str());
        let page = endpoints.and_then(|endpoints| endpoints.authorization.as_deref());
        let named = [("kind", kind), ("client", client), ("issuer", issuer.as_deref())];
        let named = named.into_iter().chain([("authorizationUrl", page), ("tokenUrl", token_url)]);
        let named = named.chain([("resource", resource), ("person", person)]);
        let named = named.filter_map(|(name, value)| Some([name, value?])).flatten();
        named.chain(scopes.iter().flat_map(|scope| ["scope", scope.as_str()])).collect()
    }

    /// The secrets, to be masked in output.
    pub fn secrets(&self) -> Vec<&Secret> {
        match self {
            AuthConfig::OAuth(config) => config.client.iter().filter_map(|client| client.secret.as_ref()).collect(),
            AuthConfig::ClientCredentials(ClientCredentialsConfig { proof: ClientProof::Secret(secret), .. }) => {
                vec![secret]
            }
            AuthConfig::ClientCredentials(_) => Vec::new(),
            AuthConfig::TokenExchange(config) => config.client.secret.iter().collect(),
            AuthConfig::Signed(config) => vec![&config.key],
            AuthConfig::Enterprise(config) => {
                let clients =
                    [&config.idp_client, &config.client].into_iter().filter_map(|client| client.secret.as_ref());
                let text = match &config.id_token {
                    IdToken::Text(text) => Some(text),
                    IdToken::File(_) => None,
                };
                clients.chain(text).collect()
            }
        }
    }
}
