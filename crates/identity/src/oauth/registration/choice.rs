//! The client that logs in: the one of the config, the URL of a document, the one that is registered, or a new one.

use serde_json::{Value, json};

use crate::oauth::exchange::OAuthExchange;
use crate::oauth::storage::LogInRecord;
use crate::oauth::subject::Subject;
use crate::oauth::terms::{AuthMethod, AuthorizationServer, Registration};
use crate::oauth::{ClientKind, LogInError};
use proxy_base::foreign_text::quoted;
use proxy_config::RegisteredClient;
use proxy_model::Secret;
use proxy_wire::http::{Fetcher, Reach};

const CLIENT_NAME: &str = "starlark-mcp-proxy";

/// A client, and whether it was made just now.
pub(crate) struct ChosenClient {
    pub(crate) registration: Registration,
    pub(crate) new: bool,
}

pub(crate) struct ClientChoice<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) server: &'a AuthorizationServer,
    pub(crate) redirect_uri: &'a str,
    /// Redirect URIs that are registered beside it, if a client is registered.
    pub(crate) more_redirect_uris: &'a [String],
    pub(crate) scopes: &'a [String],
    /// The record with the client that was last registered at this authorization server: a client ID is shown to no other.
    pub(crate) last: Option<&'a LogInRecord>,
}

impl ClientChoice<'_> {
    pub(crate) async fn choose(&self, fetcher: &Fetcher, reach: Reach) -> Result<ChosenClient, LogInError> {
        if let Some(known) = self.known() {
            return Ok(ChosenClient { registration: known, new: false });
        }
        match &self.server.registration_endpoint {
            Some(endpoint) if self.subject.config.register => {
                let registration = self.register(fetcher, reach, endpoint).await?;
                Ok(ChosenClient { registration, new: true })
            }
            _ => {
                let why = if self.subject.config.register { "cannot" } else { "must not (`auth.register: false`)" };
                Err(LogInError::Registration(format!(
                    "the proxy {why} register itself at {}: register a client there by hand, and set `issuer` and \
                     `clientId` in `mcpServers.{}.auth`",
                    quoted(&self.server.issuer),
                    self.subject.name
                )))
            }
        }
    }

    /// The client that needs no registration.
    fn known(&self) -> Option<Registration> {
        let config = &self.subject.config;
        if let Some(client) = &config.client {
            return Some(configured(client, self.server, self.redirect_uri));
        }
        if let Some(url) = config.client_metadata_url.as_ref().filter(|_| self.server.takes_documents) {
            let client = RegisteredClient { id: url.clone(), secret: None };
            return Some(Registration {
                kind: ClientKind::Document,
                ..configured(&client, self.server, self.redirect_uri)
            });
        }
        let registration = self.last?.registration.as_ref()?;
        let usable = registration.kind == ClientKind::Registered && !registration.is_expired();
        if usable { registration.coming_back_to(self.redirect_uri) } else { None }
    }

    async fn register(&self, fetcher: &Fetcher, reach: Reach, endpoint: &str) -> Result<Registration, LogInError> {
        let method = self.server.registration_method();
        let redirect_uris: Vec<&str> =
            std::iter::once(self.redirect_uri).chain(self.more_redirect_uris.iter().map(String::as_str)).collect();
        let mut client = json!({
            "client_name": CLIENT_NAME,
            "redirect_uris": redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method.as_str(),
            "application_type": "native",
        });
        if !self.scopes.is_empty() {
            client["scope"] = json!(self.scopes.join(" "));
        }
        let exchange = OAuthExchange { fetcher, reach, server: self.server };
        let answer = exchange.register(endpoint, &client).await.map_err(|error| {
            LogInError::Registration(format!(
                "the proxy could not register itself: {}; register a client by hand, and set `issuer` and `clientId` in \
                 `mcpServers.{}.auth`",
                error.text(),
                self.subject.name
            ))
        })?;
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        let said = text("token_endpoint_auth_method").and_then(AuthMethod::parse);
        // An empty one means that there is none.
        let client_secret = text("client_secret").filter(|secret| !secret.is_empty()).map(Secret::new);
        let method = match (&client_secret, said) {
            (None, _) => AuthMethod::None,
            (Some(_), Some(said)) => said,
            (Some(_), None) if self.server.auth_methods.is_some() => method,
            // A secret that was given although none was asked for is there to be used.
            (Some(_), None) => self.server.secret_method(),
        };
        let client_secret = client_secret.filter(|_| method != AuthMethod::None);
        Ok(Registration {
            kind: ClientKind::Registered,
            client_id: text("client_id").unwrap_or_default().to_owned(),
            client_secret,
            method,
            redirect_uri: self.redirect_uri.to_owned(),
            more_redirect_uris: self.more_redirect_uris.to_vec(),
            // 0 means never (RFC 7591, 3.2.1).
            secret_expires_at: answer.get("client_secret_expires_at").and_then(Value::as_u64).filter(|end| *end > 0),
        })
    }
}

/// The client of the config at an authorization server.
fn configured(client: &RegisteredClient, server: &AuthorizationServer, redirect_uri: &str) -> Registration {
    Registration {
        kind: ClientKind::Configured,
        client_id: client.id.clone(),
        method: client.secret.as_ref().map_or(AuthMethod::None, |_| server.secret_method()),
        client_secret: client.secret.clone(),
        redirect_uri: redirect_uri.to_owned(),
        more_redirect_uris: Vec::new(),
        secret_expires_at: None,
    }
}
