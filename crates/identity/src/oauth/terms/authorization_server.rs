//! What an authorization server says about itself (RFC 8414, OpenID Connect Discovery).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::oauth::terms::{AuthMethod, texts};
use proxy_config::OAuthEndpoints;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuthorizationServer {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: String,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Vec<String>,
    /// The names of `token_endpoint_auth_methods_supported`; `None` if it does not say.
    pub(crate) auth_methods: Option<Vec<String>>,
    /// The names of `revocation_endpoint_auth_methods_supported`; `None` if it does not say.
    pub(crate) revocation_methods: Option<Vec<String>>,
    pub(crate) pkce_methods: Option<Vec<String>>,
    /// Whether a client ID can be the URL of a document.
    pub(crate) takes_documents: bool,
    /// Whether redirects name their issuer (RFC 9207).
    pub(crate) names_itself: bool,
}

impl AuthorizationServer {
    /// Reads a metadata document; `None` if it is something else.
    pub(crate) fn parse(document: &Value) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let flag = |name: &str| document.get(name).and_then(Value::as_bool).unwrap_or(false);
        let list = |name: &str| texts(document.get(name));
        Some(AuthorizationServer {
            issuer: text("issuer")?,
            token_endpoint: text("token_endpoint")?,
            authorization_endpoint: text("authorization_endpoint"),
            registration_endpoint: text("registration_endpoint"),
            revocation_endpoint: text("revocation_endpoint"),
            scopes_supported: list("scopes_supported").unwrap_or_default(),
            auth_methods: list("token_endpoint_auth_methods_supported"),
            revocation_methods: list("revocation_endpoint_auth_methods_supported"),
            pkce_methods: list("code_challenge_methods_supported"),
            takes_documents: flag("client_id_metadata_document_supported"),
            names_itself: flag("authorization_response_iss_parameter_supported"),
        })
    }

    /// The one that the config describes, because it does not describe itself.
    pub(crate) fn configured(issuer: &str, endpoints: &OAuthEndpoints) -> Self {
        AuthorizationServer {
            issuer: issuer.to_owned(),
            authorization_endpoint: endpoints.authorization.clone(),
            token_endpoint: endpoints.token.clone(),
            registration_endpoint: None,
            revocation_endpoint: None,
            scopes_supported: Vec::new(),
            auth_methods: None,
            revocation_methods: None,
            // There is nothing that could say so; the proxy uses it in any case.
            pkce_methods: Some(vec!["S256".to_owned()]),
            takes_documents: false,
            names_itself: false,
        }
    }

    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &str> {
        let optional = [&self.authorization_endpoint, &self.registration_endpoint, &self.revocation_endpoint];
        [self.token_endpoint.as_str()].into_iter().chain(optional.into_iter().filter_map(Option::as_deref))
    }

    /// How a client with a secret authenticates. Basic is what every server must know (RFC 6749, 2.3.1).
    pub(crate) fn secret_method(&self) -> AuthMethod {
        secret_method(self.auth_methods.as_deref().unwrap_or_default())
    }

    /// How a client that authenticates by this method at the token endpoint does it at the revocation endpoint: the ways to
    /// try. If the metadata do not say, the authorization server of the Python SDK takes a secret in the form only, whatever
    /// the client registered.
    pub(crate) fn revocation_methods(&self, method: AuthMethod) -> Vec<AuthMethod> {
        match (method, &self.revocation_methods) {
            (AuthMethod::None, _) => vec![AuthMethod::None],
            (_, Some(names)) if !names.is_empty() => vec![secret_method(names)],
            (AuthMethod::Basic, _) => vec![AuthMethod::Basic, AuthMethod::Post],
            (AuthMethod::Post, _) => vec![AuthMethod::Post],
        }
    }

    /// How a client that registers itself wants to authenticate: a client on a user's machine keeps no secret, unless the
    /// server insists.
    pub(crate) fn registration_method(&self) -> AuthMethod {
        match &self.auth_methods {
            Some(methods) if !methods.iter().any(|method| method == AuthMethod::None.as_str()) => self.secret_method(),
            _ => AuthMethod::None,
        }
    }
}

/// Basic, unless a server knows nothing but the form.
fn secret_method(names: &[String]) -> AuthMethod {
    let has = |method: AuthMethod| names.iter().any(|name| name == method.as_str());
    if has(AuthMethod::Post) && !has(AuthMethod::Basic) { AuthMethod::Post } else { AuthMethod::Basic }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(methods: &[&str]) -> AuthorizationServer {
        let document = json!({"issuer": "https://a", "token_endpoint": "https://a/t",
            "token_endpoint_auth_methods_supported": methods, "scopes_supported": ["offline_access"]});
        AuthorizationServer::parse(&document).unwrap()
    }

    #[test]
    fn a_client_authenticates_as_the_server_allows() {
        assert_eq!(server(&["client_secret_post", "client_secret_basic"]).secret_method(), AuthMethod::Basic);
        assert_eq!(server(&["client_secret_post"]).secret_method(), AuthMethod::Post);
        assert_eq!(server(&[]).secret_method(), AuthMethod::Basic);
        assert_eq!(server(&["client_secret_post"]).registration_method(), AuthMethod::Post);
        assert_eq!(server(&["client_secret_post", "none"]).registration_method(), AuthMethod::None);
        let silent = AuthorizationServer { auth_methods: None, ..server(&[]) };
        assert_eq!(silent.registration_method(), AuthMethod::None);
    }

    #[test]
    fn a_client_authenticates_for_a_revocation_as_the_metadata_say_or_by_trying() {
        let silent = server(&["client_secret_post", "client_secret_basic"]);
        assert_eq!(silent.revocation_methods(AuthMethod::Basic), [AuthMethod::Basic, AuthMethod::Post]);
        assert_eq!(silent.revocation_methods(AuthMethod::Post), [AuthMethod::Post]);
        assert_eq!(silent.revocation_methods(AuthMethod::None), [AuthMethod::None]);
        let said = |name: &str| AuthorizationServer { revocation_methods: Some(vec![name.into()]), ..silent.clone() };
        assert_eq!(said("client_secret_post").revocation_methods(AuthMethod::Basic), [AuthMethod::Post]);
        assert_eq!(said("client_secret_basic").revocation_methods(AuthMethod::Basic), [AuthMethod::Basic]);
    }

    #[test]
    fn another_document_is_no_metadata() {
        assert_eq!(AuthorizationServer::parse(&json!({"issuer": "https://a"})), None);
        assert_eq!(AuthorizationServer::parse(&json!([])), None);
    }
}
