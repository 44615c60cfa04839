//! Servers that get a token of each caller: who sees what, and who sees which token.

mod ends;
mod people;
mod privacy;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::message::Message;
use crate::support::personal_server::PersonalServer;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::token_endpoint::TokenEndpoint;

/// An issuer, its token endpoint, and a server that everybody sees differently.
struct Desk {
    issuer: Issuer,
    endpoint: TokenEndpoint,
    server: PersonalServer,
}

impl Desk {
    async fn start() -> Self {
        Desk {
            issuer: Issuer::start().await,
            endpoint: TokenEndpoint::start().await,
            server: PersonalServer::start().await,
        }
    }

    /// `auth` of the server.
    fn exchange(&self) -> Value {
        json!({"auth": {"type": "tokenExchange", "tokenUrl": self.endpoint.url, "clientId": "proxy",
            "clientSecret": "secret-of-the-proxy", "audience": "desk", "scopes": ["read"],
            "subjectIssuer": self.issuer.url}})
    }

    /// A config with the server. `auth` has more keys of that section, `more` more sections.
    fn config(&self, auth: &str, more: &str) -> Config {
        let issuer = &self.issuer.url;
        Config::new().remote_with("desk", &self.server.url, self.exchange()).section(more).section(&format!(
            "auth: {{issuers: [{{issuer: '{issuer}', audiences: ['{AUDIENCE}'], prefix: 'corp:'}}] {auth}}}"
        ))
    }

    async fn serving(&self) -> HttpProxy {
        Proxy::new(&self.config("", "sessionInit: {preset: passthrough}")).http().await
    }
}

fn client(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

/// The tools that the holder of a token is shown.
async fn tools(proxy: &HttpProxy, token: &str) -> Vec<String> {
    client(proxy, token).modern("tools/list", "{}").await.tool_names()
}

async fn call(proxy: &HttpProxy, token: &str, tool: &str) -> Message {
    client(proxy, token).modern_call(tool, "{}").await
}
