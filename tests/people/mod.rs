//! Each person's own account at a server: how people connect it, what is used for whom, and what nobody can do to another.

mod api;
mod asked;
mod browser;
mod commands;
mod crowd;
mod ends;
mod entries;
mod killed;
mod links;
mod pages;
mod real;
mod replicas;
mod retried;
mod sdk;
mod shared;
mod unconnected;

use serde_json::{Value, json};

use crate::support::authorization_server::AuthorizationServer;
use crate::support::browser::{Browser, BrowserPage};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::issuer::{Issuer, SIGN_IN_CODE};
use crate::support::message::{self, Message};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::free_port;

/// What the server is called in these tests.
pub const SERVER: &str = "crm";
/// What the pages show the issuer.
const SIGN_IN_SECRET: &str = "secret-of-the-pages";

/// A proxy whose people are those of an issuer, before a server that knows people by its own authorization server.
pub struct World {
    pub issuer: Issuer,
    pub authorization: AuthorizationServer,
    pub server: ProtectedServer,
    pub proxy: HttpProxy,
    /// `serve.publicUrl`.
    pub url: String,
}

/// The sections of a config whose people sign in at this issuer.
pub fn sections(issuer: &Issuer, url: &str) -> String {
    format!(
        "auth: {{issuers: [{{issuer: '{}', signIn: {{clientId: pages, clientSecret: {SIGN_IN_SECRET}}}}}]}}\n\
         serve: {{publicUrl: '{url}'}}",
        issuer.url
    )
}

/// The keys of an entry with an account for each person.
pub fn personal() -> Value {
    json!({"auth": {"type": "oauth", "per": "person", "about": "customers, invoices"}})
}

impl World {
    pub async fn start() -> Self {
        Self::with("", |config, _| config).await
    }

    /// With more sections, and more of the config; the second argument of `change` is the server's URL.
    pub async fn with(more: &str, change: impl FnOnce(Config, &str) -> Config) -> Self {
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::start(&authorization).await;
        Self::made(authorization, server, more, change, |proxy| proxy).await
    }

    /// Before this server.
    pub async fn before(authorization: AuthorizationServer, server: ProtectedServer) -> Self {
        Self::made(authorization, server, "", |config, _| config, |proxy| proxy).await
    }

    /// With more sections that need this file.
    pub async fn with_file(more: &str, name: &str, text: &str) -> Self {
        Self::with_file_and(more, name, text, |config| config).await
    }

    /// The same with more of the config.
    pub async fn with_file_and(more: &str, name: &str, text: &str, change: impl FnOnce(Config) -> Config) -> Self {
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::start(&authorization).await;
        let change = |config: Config, _: &str| change(config);
        Self::made(authorization, server, more, change, |proxy| proxy.file(name, text)).await
    }

    async fn made(
        authorization: AuthorizationServer,
        server: ProtectedServer,
        more: &str,
        change: impl FnOnce(Config, &str) -> Config,
        prepare: impl FnOnce(Proxy) -> Proxy,
    ) -> Self {
        let issuer = Issuer::start().await;
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let config =
            Config::new().remote_with(SERVER, &server.url, personal()).section(&sections(&issuer, &url)).section(more);
        let proxy = prepare(Proxy::new(&change(config, &server.url)));
        let proxy = proxy.argument("--log").argument("trace").http_at(port).await;
        World { issuer, authorization, server, proxy, url }
    }

    /// A client with a token of this person.
    pub fn client(&self, person: &str) -> HttpClient {
        let token = self.issuer.token_with(person, json!({"aud": self.url}));
        self.proxy.client().with_header("Authorization", &format!("Bearer {token}"))
    }

    pub fn page(&self) -> String {
        format!("{}/connect/{SERVER}", self.url)
    }

    /// The page of a person who has just signed in.
    pub async fn signed_in(&self, browser: &Browser) -> BrowserPage {
        let page = browser.open(&self.page()).await;
        browser.press(&page, "Sign in").await
    }

    /// Connects the account of whoever sits at the browser.
    pub async fn connect(&self, browser: &Browser) -> BrowserPage {
        let page = self.signed_in(browser).await;
        browser.press(&page, "Connect").await
    }

    /// How many codes of the server's authorization server were redeemed.
    pub fn redeemed(&self) -> usize {
        self.authorization.seen().count("authorization_code")
    }

    /// Whether a person's calls reach the server.
    pub async fn is_connected(&self, person: &str) -> bool {
        let answer = self.client(person).modern_call("echo", "{}").await;
        !answer.raw.contains("isError") && answer.raw.contains("result")
    }

    /// Fails if the log has a secret: a token, a code, the secret of the pages at the issuer, or what these browsers had.
    pub fn assert_clean_log(&self, browsers: &[&Browser]) {
        let log = self.proxy.program.stderr.text();
        let mut secrets = self.authorization.secrets();
        for browser in browsers {
            let of_browser = browser.secrets();
            assert!(of_browser.len() > 3, "a browser has cookies, marks, codes and states: {of_browser:?}");
            secrets.extend(of_browser);
        }
        secrets.extend([SIGN_IN_CODE, SIGN_IN_SECRET].map(str::to_owned));
        for secret in secrets {
            assert!(secret.len() >= 8, "`{secret}` may be in the log by chance");
            assert!(!log.contains(&secret), "`{secret}` is in the log");
        }
        assert!(log.contains("TRACE") && log.contains(SERVER), "the log is written");
    }

    /// The token that the last call of a tool has shown to the server.
    pub fn shown(&self) -> String {
        let mut calls = self.server.visits().into_iter().filter(|visit| visit.method.as_deref() == Some("tools/call"));
        calls.next_back().and_then(|visit| visit.authorization).expect("a call with a token")
    }
}

/// A call that a stateless client sends with these capabilities, and these answers to questions.
pub async fn stateless_call(client: &mut HttpClient, capabilities: &str, more: Value) -> Message {
    let mut params: Value = serde_json::from_str(&message::call("echo", "{}")).expect("params");
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    client.modern_with("tools/call", &params.to_string(), capabilities).await
}
