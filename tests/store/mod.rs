//! The store: what all its homes do, what scripts keep in it, and what a Redis that goes away does to it.

mod caching;
mod every_home;
mod outage;
mod rate_limiting;
mod rate_limits;
mod remembering;
mod restarts;
mod sharing;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::proxy::{HttpProxy, Proxy};

const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";

/// A proxy without servers, with this session script.
fn world(sections: &str, script: &str) -> Proxy {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }").section(sections);
    Proxy::new(&config).file("policy.star", script)
}

/// A client with a token.
fn client_of(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

/// The same in a session.
async fn session_of(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = client_of(proxy, token);
    client.initialize("2025-11-25").await.result();
    client
}
