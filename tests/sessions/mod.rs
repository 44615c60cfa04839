//! Sessions that outlive a process, or are served by several: their ids say everything that is needed.

mod bad_ids;
mod balanced;
mod displaced;
mod ended;
mod operated;
mod restarted;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const KEY: &str = "the-same-key-of-more-than-thirty-two-bytes";
const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";

/// A proxy in front of one session-based server, with these settings in its section `serve`.
async fn proxy(serve: &str) -> HttpProxy {
    proxy_with(serve, "").await
}

async fn proxy_with(serve: &str, section: &str) -> HttpProxy {
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"]));
    let config = config.section(&format!("serve: {{{serve}}}")).section(section);
    Proxy::new(&config).argument("--log=debug").http().await
}

/// One of several with the same key.
async fn replica(section: &str) -> HttpProxy {
    proxy_with(&format!("stateKeys: [{KEY}]"), section).await
}

/// Two that know nothing of each other.
async fn replicas(section: &str) -> [HttpProxy; 2] {
    [replica(section).await, replica(section).await]
}

/// A client with a session.
async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
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

fn ping(client: &HttpClient) -> HttpRequest {
    client.legacy(&message::request("7", "ping", "{}"))
}

async fn status(client: &HttpClient) -> u16 {
    client.send(&ping(client)).await.status
}

/// The two parts of a session id: the process that opened it, and what is sealed.
fn parts(client: &HttpClient) -> (&str, &str) {
    client.session().and_then(|id| id.split_once('.')).expect("a session id has two parts")
}
