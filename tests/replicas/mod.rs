//! Several proxies with one Redis and the same keys: what one of them learns of a session, all know.

mod answers;
mod balanced;
mod cluster;
mod elsewhere;
mod ends;
mod holders;
mod outage;
mod status;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const KEY: &str = "the-same-key-of-more-than-thirty-two-bytes";
const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

/// One of several in front of this server.
async fn replica_of(config: Config, store: &str) -> HttpProxy {
    let config = config.section(&format!("store: {{{store}}}")).section(&format!("serve: {{stateKeys: [{KEY}]}}"));
    Proxy::new(&config).argument("--log=debug").http().await
}

/// One of several, each in front of a process of its own.
async fn replica(store: &str, section: &str) -> HttpProxy {
    let server = fake_backend(["--era", "legacy", "--resources"]);
    replica_of(Config::new().server("fake", &server).section(section), store).await
}

fn at(url: &str) -> String {
    format!("url: '{url}'")
}

async fn replicas(url: &str, section: &str) -> [HttpProxy; 2] {
    [replica(&at(url), section).await, replica(&at(url), section).await]
}

async fn session(proxy: &HttpProxy) -> HttpClient {
    session_with(proxy, "{}").await
}

async fn session_with(proxy: &HttpProxy, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

async fn session_of(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    client.initialize("2025-11-25").await.result();
    client
}

fn moved(client: &HttpClient, proxy: &HttpProxy) -> HttpClient {
    client.moved_to(&proxy.url, &proxy.program.stderr)
}

async fn status(client: &HttpClient) -> u16 {
    client.send(&client.legacy(&message::request("7", "ping", "{}"))).await.status
}

/// Waits until a session is not known any more.
async fn until_ended(client: &HttpClient, proxy: &HttpProxy) {
    let ended = async { while status(client).await != 404 {} };
    within("the end of the session", &proxy.program.stderr, ended).await;
}
