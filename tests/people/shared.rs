//! What replicas of one proxy share: the store, the config, the people and their server.

use serde_json::{Value, json};

use super::{SERVER, personal, sections};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::issuer::Issuer;
use crate::support::message;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::free_port;
use crate::support::redis::Redis;

/// What a client declares that can be asked to open a page.
pub const ASKABLE: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// What replicas share.
pub struct Shared {
    pub redis: Redis,
    pub issuer: Issuer,
    pub authorization: AuthorizationServer,
    pub server: ProtectedServer,
    config: Config,
    /// Whichever replica serves is at this address, as behind a load balancer.
    pub port: u16,
    pub url: String,
}

impl Shared {
    pub async fn start() -> Option<Self> {
        Self::before(&["--only", "echo,stall,seen,add_tool"], "").await
    }

    /// With a server of these flags, and more sections.
    pub async fn before(flags: &[&str], more: &str) -> Option<Self> {
        let redis = Redis::start().await?;
        let issuer = Issuer::start().await;
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::before(&authorization, flags, |_| ()).await;
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let sections = sections(&issuer, &url).replace("serve: {", &format!("serve: {{stateKeys: ['{KEY}'], "));
        let config = Config::new()
            .remote_with(SERVER, &server.url, personal())
            .section(&sections)
            .section(&format!("store: {{url: '{}'}}", redis.url()))
            .section(more);
        Some(Shared { redis, issuer, authorization, server, config, port, url })
    }

    pub async fn serving(&self) -> HttpProxy {
        Proxy::new(&self.config).argument("--log=debug").http_at(self.port).await
    }

    /// Another replica beside the one that serves.
    pub async fn beside(&self) -> HttpProxy {
        Proxy::new(&self.config).argument("--log=debug").http_at(free_port()).await
    }

    /// The replica that serves after this one was killed.
    pub async fn after(&self, mut killed: HttpProxy) -> HttpProxy {
        killed.program.kill();
        killed.program.exit().await;
        self.serving().await
    }

    pub fn client(&self, replica: &HttpProxy, person: &str) -> HttpClient {
        let token = self.issuer.token_with(person, json!({"aud": self.url}));
        replica.client().with_header("Authorization", &format!("Bearer {token}"))
    }

    /// Connects the account of a person.
    pub async fn connect(&self, person: &str) {
        let browser = Browser::of(person);
        let page = browser.open(&format!("{}/connect/{SERVER}", self.url)).await;
        let page = browser.press(&page, "Sign in").await;
        let label = if page.has_button("Connect") { "Connect" } else { "Connect another account" };
        let done = browser.press(&page, label).await;
        assert!(done.html.contains(&format!("connected as {person}")), "{done:?}");
    }
}

/// A call of a stateless client that can be asked to open a page.
pub async fn stateless(client: &mut HttpClient, params: &Value) -> Value {
    stateless_with(client, params, ASKABLE).await
}

pub async fn stateless_with(client: &mut HttpClient, params: &Value, capabilities: &str) -> Value {
    client.modern_with("tools/call", &params.to_string(), capabilities).await.value()
}

pub fn call(name: &str) -> Value {
    serde_json::from_str(&message::call(name, r#"{"n":1}"#)).expect("params")
}

/// The same call, with the answer of somebody who has opened the page.
pub fn accepted(call: &Value, asked: &Value) -> Value {
    let (key, _) = asked["result"]["inputRequests"]
        .as_object()
        .and_then(|all| all.iter().next())
        .unwrap_or_else(|| panic!("no question in {asked}"));
    let mut retry = call.clone();
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = json!({key: {"action": "accept"}});
    retry
}
