//! Signing in to the pages of the proxy: it asks an issuer, as any client does, for a token for itself. Whoever the token is
//! of sits at the browser. The token is verified like those of clients, and then forgotten.

use std::fmt;
use std::sync::Arc;

use oauth2::{CsrfToken, PkceCodeChallenge};
use serde::{Deserialize, Serialize};
use url::Url;

use super::discovery::Discovery;
use super::exchange::OAuthExchange;
use super::log_in::ExpectedRedirect;
use super::sign_in_issuers::SignInPlace;
use super::terms::AuthMethod;
use super::terms::AuthorizationServer;
use super::terms::secret_fields::secret;
use super::{LogInError, LogIns};
use proxy_base::foreign_text::quoted;
use proxy_config::{IssuerConfig, SignIn};
use proxy_model::Secret;
use proxy_wire::http::{Fetcher, Reach};

/// Without this scope, many identity providers take a request for another kind than a sign-in, and refuse it.
const OPENID: &str = "openid";

/// What a sign-in asks for.
#[derive(Clone, Copy, Debug)]
pub struct SignInRequest<'a> {
    pub issuer: &'a IssuerConfig,
    /// What the token is for: the URL of the proxy.
    pub resource: &'a str,
    /// The scopes that every token must have.
    pub required_scopes: &'a [String],
    /// Where the browser comes back to.
    pub redirect_uri: &'a str,
}

/// A sign-in that waits for the person. It has secrets: whoever keeps it encrypts it.
#[derive(Serialize, Deserialize)]
pub struct ParkedSignIn {
    #[serde(with = "secret")]
    state: Secret,
    #[serde(with = "secret")]
    verifier: Secret,
    issuer: String,
    redirect_uri: String,
    resource: Option<String>,
}

impl fmt::Debug for ParkedSignIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ParkedSignIn").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl ParkedSignIn {
    /// What must come back from the issuer, and from nowhere else.
    pub fn state(&self) -> &Secret {
        &self.state
    }

    /// The issuer, as the config writes it.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl LogIns {
    /// Where the person is sent, and what has to be remembered until they come back.
    pub async fn begin_sign_in(&self, request: SignInRequest<'_>) -> Result<(String, ParkedSignIn), LogInError> {
        let SignInRequest { issuer, resource, required_scopes, redirect_uri } = request;
        let client = client_of(issuer)?;
        let server = self.issuer_metadata(issuer).await?;
        let endpoint = server.authorization_endpoint.as_deref().ok_or_else(|| {
            LogInError::Metadata(format!(
                "{} has no authorization endpoint: nobody can sign in there",
                quoted(&issuer.issuer)
            ))
        })?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random_len(32);
        // With `audiences`, the issuer puts another name of the proxy into its tokens, and may refuse this one.
        let resource = issuer.audiences.is_empty().then(|| resource.to_owned());
        let mut scopes: Vec<&str> = Vec::new();
        for scope in required_scopes.iter().chain(&client.scopes) {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        if scopes.is_empty() && server.scopes_supported.iter().any(|scope| scope == OPENID) {
            scopes.push(OPENID);
        }
        let mut address = parsed(endpoint)?;
        {
            let mut query = address.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &client.client_id);
            query.append_pair("redirect_uri", redirect_uri).append_pair("state", state.secret());
            query.append_pair("code_challenge", challenge.as_str()).append_pair("code_challenge_method", "S256");
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            if let Some(resource) = &resource {
                query.append_pair("resource", resource);
            }
        }
        let parked = ParkedSignIn {
            state: Secret::new(state.into_secret()),
            verifier: Secret::new(verifier.into_secret()),
            issuer: issuer.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
            resource,
        };
        Ok((address.into(), parked))
    }

    /// A place among those whose sign-in ends. Each makes the proxy ask an issuer.
    ///
    /// # Errors
    /// If too many wait for it.
    pub fn sign_in_place(&self) -> Result<SignInPlace, LogInError> {
        self.sign_in_issuers.place()
    }

    /// The token for the code of a redirect that passes every check.
    pub async fn finish_sign_in(
        &self,
        place: SignInPlace,
        issuer: &IssuerConfig,
        parked: &ParkedSignIn,
        callback: &str,
    ) -> Result<Secret, LogInError> {
        let client = client_of(issuer)?;
        let server = self.issuer_metadata(issuer).await?;
        let expected = ExpectedRedirect {
            redirect_uri: &parked.redirect_uri,
            state: parked.state.reveal(),
            issuer: &server.issuer,
            names_itself: server.names_itself,
        };
        let code = expected.code(callback)?;
        let url = parsed(&issuer.issuer)?;
        let exchange = OAuthExchange { fetcher: self.fetcher(), reach: Reach::of(&url).await, server: &server };
        let method = client.client_secret.as_ref().map_or(AuthMethod::None, |_| server.secret_method());
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("code_verifier", parked.verifier.reveal()),
            ("redirect_uri", &parked.redirect_uri),
        ];
        if method == AuthMethod::Basic {
            fields.push(("client_id", &client.client_id));
        }
        let auth = method.auth(&client.client_id, client.client_secret.as_ref());
        let _turn = self.sign_in_issuers.turn(&place).await;
        let grant = exchange.token(auth, parked.resource.as_deref(), fields).await?;
        Ok(grant.access_token)
    }

    async fn issuer_metadata(&self, issuer: &IssuerConfig) -> Result<AuthorizationServer, LogInError> {
        let issuer = issuer.issuer.as_str();
        let read = async {
            let url = parsed(issuer)?;
            let reach = Reach::of(&url).await;
            let fetcher = self.fetcher();
            let discovery = Discovery { fetcher, reach, server: &url, issuer: Some(issuer), endpoints: None };
            discovery.authorization_server(issuer).await
        };
        self.sign_in_issuers.metadata(issuer, read).await
    }

    fn fetcher(&self) -> &Arc<Fetcher> {
        &self.table.fetcher
    }
}

fn client_of(issuer: &IssuerConfig) -> Result<&SignIn, LogInError> {
    issuer.sign_in.as_ref().ok_or_else(|| {
        LogInError::NotApplicable(format!("nobody signs in with {}: it has no `signIn`", quoted(&issuer.issuer)))
    })
}

fn parsed(url: &str) -> Result<Url, LogInError> {
    Url::parse(url).map_err(|_| LogInError::Metadata(format!("{} is not a URL", quoted(url))))
}
