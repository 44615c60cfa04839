//! Requests to one authorization server.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, StatusCode};
use serde_json::Value;
use url::Url;

use super::token_response::granted;
use crate::client_form::{ClientAuth, form};
use crate::oauth::LogInError;
use crate::oauth::terms::{AuthorizationServer, Grant, Registration};
use proxy_base::foreign_text::quoted;
use proxy_wire::http::{Fetcher, Reach};

/// The fields of a token request that must not be shown, even if the server repeats them.
const SECRET_FIELDS: [&str; 3] = ["code", "code_verifier", "refresh_token"];

/// An authorization server, and how it is reached.
pub(crate) struct OAuthExchange<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) reach: Reach,
    pub(crate) server: &'a AuthorizationServer,
}

struct Answer {
    status: StatusCode,
    document: Value,
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

impl OAuthExchange<'_> {
    /// Asks the token endpoint.
    pub(crate) async fn token(
        &self,
        client: ClientAuth<'_>,
        resource: Option<&str>,
        mut fields: Vec<(&str, &str)>,
    ) -> Result<Grant, ExchangeError> {
        fields.extend(resource.map(|resource| ("resource", resource)));
        let answer = self.send(form(&self.server.token_endpoint, client, &fields)).await?;
        if let Some(grant) = granted(&answer.document)
            && answer.status.is_success()
        {
            return Ok(grant);
        }
        let fields = fields.iter().filter(|(name, _)| SECRET_FIELDS.contains(name)).map(|(_, value)| *value);
        let secrets: Vec<&str> = fields.chain(client.secret().map(|secret| secret.reveal())).collect();
        Err(self.problem(&answer, &secrets))
    }

    /// Asks the token endpoint, for a client that is registered.
    pub(crate) async fn token_for(
        &self,
        client: &Registration,
        resource: Option<&str>,
        mut fields: Vec<(&str, &str)>,
    ) -> Result<Grant, ExchangeError> {
        let auth = client.auth(client.method);
        if let ClientAuth::Basic { id, .. } = auth {
            // The authorization server of the Python SDK looks for it in the form even if the header names the client.
            fields.push(("client_id", id));
        }
        self.token(auth, resource, fields).await
    }

    /// Registers a client (RFC 7591), and returns what the server says about it: a `client_id` at least.
    pub(crate) async fn register(&self, endpoint: &str, client: &Value) -> Result<Value, ExchangeError> {
        let request = Url::parse(endpoint).ok().and_then(|url| {
            Request::post(url.as_str())
                .header(ACCEPT, "application/json")
                .header(CONTENT_TYPE, "application/json")
                .body(client.to_string().into_bytes())
                .ok()
        });
        let answer = self.send(request).await?;
        if answer.status.is_success() && answer.document.get("client_id").is_some_and(Value::is_string) {
            return Ok(answer.document);
        }
        Err(self.problem(&answer, &[]))
    }

    async fn send(&self, request: Option<Request<Vec<u8>>>) -> Result<Answer, ExchangeError> {
        let issuer = quoted(&self.server.issuer);
        let request =
            request.ok_or_else(|| ExchangeError::Failed(format!("an endpoint of {issuer} is not a valid URL")))?;
        let response = self.fetcher.fetch(self.reach, request).await;
        let response =
            response.map_err(|error| ExchangeError::Failed(format!("no response from {issuer}: {error}")))?;
        let document = serde_json::from_slice(response.body()).unwrap_or_default();
        Ok(Answer { status: response.status(), document })
    }

    /// Why an answer does not give what it should, in words that are safe to show: the error code of the server and its
    /// description, unless it repeats a secret, but never a body.
    fn problem(&self, answer: &Answer, secrets: &[&str]) -> ExchangeError {
        let issuer = quoted(&self.server.issuer);
        let text = |name: &str| answer.document.get(name).and_then(Value::as_str);
        match text("error").filter(|code| is_code(code)) {
            // 5xx says something about the server, whatever it says about the request.
            Some(code) if !answer.status.is_server_error() => {
                let description = text("error_description")
                    .filter(|description| !secrets.iter().any(|secret| description.contains(secret)))
                    .map_or_else(String::new, |description| format!(": {}", quoted(description)));
                ExchangeError::Refused { code: code.to_owned(), text: format!("{issuer} says `{code}`{description}") }
            }
            _ if answer.status.is_success() => ExchangeError::Failed(format!("{issuer} sent an invalid response")),
            _ => ExchangeError::Failed(format!("{issuer} answered with HTTP {}", answer.status.as_u16())),
        }
    }
}

/// RFC 6749, 5.2.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}
