//! One conversation with an authorization server.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, Response};
use oauth2::TokenResponse;
use oauth2::basic::BasicTokenType;
use parking_lot::Mutex;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, OAuthClientConfig, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest,
    OAuthTokenResponse,
};
use serde_json::Value;
use url::form_urlencoded;

use super::rewrite::{self, Rewrite};
use crate::oauth::LogInError;
use crate::oauth::terms::{AuthMethod, AuthorizationServer, Grant, Registration};
use proxy_base::foreign_text::quoted;
use proxy_model::Secret;
use proxy_wire::http::{FetchError, Fetcher, Reach};

/// The HTTP side of one conversation.
pub(crate) struct OAuthExchange {
    fetcher: Arc<Fetcher>,
    reach: Reach,
    rewrite: Mutex<Rewrite>,
    /// What the last request has led to. rmcp makes texts of it, with everything that the server said.
    outcome: Mutex<Option<Outcome>>,
}

enum Outcome {
    Failed(String),
    Answered { status: u16, document: Value },
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExchangeError {
    /// The server refused with this error code.
    Refused { code: String, text: String },
    /// No answer, or none that says anything about the request.
    Failed(String),
}

impl ExchangeError {
    pub(crate) fn text(&self) -> &str {
        match self {
            ExchangeError::Refused { text, .. } | ExchangeError::Failed(text) => text,
        }
    }
}

impl From<ExchangeError> for LogInError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Refused { text, .. } => LogInError::Refused(text),
            ExchangeError::Failed(text) => LogInError::Unreachable(text),
        }
    }
}

impl OAuthExchange {
    pub(crate) fn new(fetcher: &Arc<Fetcher>, reach: Reach, rewrite: Rewrite) -> Arc<Self> {
        let (rewrite, outcome) = (Mutex::new(rewrite), Mutex::default());
        Arc::new(OAuthExchange { fetcher: Arc::clone(fetcher), reach, rewrite, outcome })
    }

    /// Changes what is replaced in the next requests.
    pub(crate) fn rewrite(&self, change: impl FnOnce(&mut Rewrite)) {
        change(&mut self.rewrite.lock());
    }

    /// rmcp's side, for a client that is registered. Made for one conversation: it is one credential with a mutex around
    /// every request.
    pub(crate) async fn manager(
        self: &Arc<Self>,
        server_url: &str,
        server: &AuthorizationServer,
        client: &Registration,
    ) -> Result<AuthorizationManager, LogInError> {
        let mut manager = self.bare_manager(server_url, server, client.method).await?;
        self.rewrite(|rewrite| rewrite.client_id = Some(client.client_id.clone()));
        let mut config = OAuthClientConfig::new(client.client_id.clone(), client.redirect_uri.clone());
        if let Some(secret) = &client.client_secret {
            config = config.with_client_secret(secret.reveal());
        }
        manager.configure_client(config).map_err(unusable)?;
        Ok(manager)
    }

    /// rmcp's side, for a client that is yet to be made.
    pub(crate) async fn bare_manager(
        self: &Arc<Self>,
        server_url: &str,
        server: &AuthorizationServer,
        method: AuthMethod,
    ) -> Result<AuthorizationManager, LogInError> {
        let client = Arc::clone(self) as Arc<dyn OAuthHttpClient>;
        let mut manager =
            AuthorizationManager::new_with_oauth_http_client(server_url, client).await.map_err(unusable)?;
        let metadata = server.for_rmcp(method);
        manager.set_metadata(metadata.ok_or_else(|| LogInError::Metadata("unusable metadata".to_owned()))?);
        Ok(manager)
    }

    /// The document that the last request was answered with.
    pub(crate) fn document(&self) -> Option<Value> {
        match &*self.outcome.lock() {
            Some(Outcome::Answered { document, .. }) => Some(document.clone()),
            _ => None,
        }
    }

    /// Why the last request did not give what it should, in words that are safe to show: the error code of the server
    /// and its description, but never a body.
    pub(crate) fn problem(&self, issuer: &str) -> ExchangeError {
        let issuer = quoted(issuer);
        match &*self.outcome.lock() {
            None => ExchangeError::Failed(format!("nothing was sent to {issuer}")),
            Some(Outcome::Failed(reason)) => ExchangeError::Failed(format!("no answer of {issuer}: {reason}")),
            Some(Outcome::Answered { status, document }) => {
                let code = document.get("error").and_then(Value::as_str).filter(|code| is_code(code));
                match code {
                    // 5xx says something about the server, whatever it says about the request.
                    Some(code) if *status < 500 => {
                        let text = match self.described(document) {
                            Some(description) => format!("{issuer} says `{code}`: {description}"),
                            None => format!("{issuer} says `{code}`"),
                        };
                        ExchangeError::Refused { code: code.to_owned(), text }
                    }
                    _ if *status < 300 => ExchangeError::Failed(format!("the answer of {issuer} cannot be used")),
                    _ => ExchangeError::Failed(format!("{issuer} answers with HTTP {status}")),
                }
            }
        }
    }

    /// The description of an error, unless it repeats what was sent.
    fn described(&self, document: &Value) -> Option<String> {
        let description = document.get("error_description").and_then(Value::as_str)?;
        let secrets = &self.rewrite.lock().secrets;
        let harmless = !secrets.iter().any(|secret| description.contains(secret.reveal()));
        harmless.then(|| quoted(description))
    }

    /// Posts a token request that rmcp cannot make.
    pub(crate) async fn post(
        &self,
        server: &AuthorizationServer,
        fields: &[(&str, &str)],
    ) -> Result<Grant, ExchangeError> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(&server.token_endpoint)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(form.into_bytes())
            .map_err(|_| ExchangeError::Failed("the token endpoint is not a valid URL".to_owned()))?;
        let answered = self.send(request).await.map_err(|_| self.problem(&server.issuer))?;
        let granted = serde_json::from_slice(answered.body()).ok().filter(|_| answered.status().is_success());
        self.granted(&server.issuer, granted.ok_or(AuthError::AuthorizationRequired))
    }

    /// The grant of an exchange that rmcp has made.
    pub(crate) fn granted(
        &self,
        issuer: &str,
        outcome: Result<OAuthTokenResponse, AuthError>,
    ) -> Result<Grant, ExchangeError> {
        // Its error holds the body of the response.
        let token = outcome.map_err(|_| self.problem(issuer))?;
        let is_bearer = *token.token_type() == BasicTokenType::Bearer;
        if token.access_token().secret().is_empty() || !is_bearer {
            return Err(ExchangeError::Failed(format!("the answer of {} cannot be used", quoted(issuer))));
        }
        let scopes = token.scopes().map(|scopes| scopes.iter().map(|scope| scope.to_string()).collect());
        Ok(Grant {
            access_token: Secret::new(token.access_token().secret()),
            refresh_token: token.refresh_token().map(|token| Secret::new(token.secret())),
            expires_in: token.expires_in(),
            scopes,
        })
    }

    async fn send(&self, mut request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, FetchError> {
        self.rewrite.lock().request(&mut request);
        let sent = self.fetcher.fetch(self.reach, request).await;
        let (outcome, response) = match sent {
            Ok(mut response) => {
                let document = rewrite::response(&mut response);
                (Outcome::Answered { status: response.status().as_u16(), document }, Ok(response))
            }
            Err(error) => (Outcome::Failed(error.to_string()), Err(error)),
        };
        *self.outcome.lock() = Some(outcome);
        response
    }
}

impl OAuthHttpClient for OAuthExchange {
    /// Its redirect policy is not needed: what is posted follows none.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { self.send(request.request).await.map_err(Into::into) })
    }
}

/// RFC 6749, 5.2.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

fn unusable(error: AuthError) -> LogInError {
    LogInError::Metadata(format!("the authorization server cannot be used: {error}"))
}
