//! Sessions of people whose tokens are renewed, change and end.

use serde_json::json;

use super::{client, config, serving, status};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::issuer::{AUDIENCE, Issuer, now};
use crate::support::message;
use crate::support::proxy::HttpProxy;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

async fn session(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = client(proxy, token);
    client.initialize("2025-11-25").await.result();
    client
}

/// What the session of `of` answers to a holder of another token.
async fn tools(proxy: &HttpProxy, of: &HttpClient, token: &str) -> Vec<String> {
    let request = of.legacy(&message::request("7", "tools/list", "{}"));
    client(proxy, token).send(&request).await.response().await.tool_names()
}

#[tokio::test]
async fn a_session_survives_a_renewed_token_and_follows_its_user() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, "", "")).await;
    let first = issuer.token_with("ann", json!({"groups": ["dev"], "jti": "1"}));
    let ann = session(&proxy, &first).await;
    let mut told = ann.get_stream().await;
    assert_eq!(tools(&proxy, &ann, &first).await, ["whoami", "echo", "add_tool"]);

    let renewed = issuer.token_with("ann", json!({"groups": ["dev"], "jti": "2", "exp": now() + 900}));
    assert_eq!(tools(&proxy, &ann, &renewed).await, ["whoami", "echo", "add_tool"]);

    // Another group is another surface for the same session, which is told so.
    let promoted = issuer.token_with("ann", json!({"groups": ["dev", "ops"], "jti": "3"}));
    let ping = ann.legacy(&message::request("8", "ping", "{}"));
    assert_eq!(client(&proxy, &promoted).send(&ping).await.status, 200);
    let change = told.next_message().await.expect("a notification");
    assert_eq!(change.method().as_deref(), Some(LIST_CHANGED));
    assert_eq!(tools(&proxy, &ann, &promoted).await, ["ops", "whoami", "echo", "add_tool"]);
    assert_eq!(client(&proxy, &issuer.token("bob")).send(&ping).await.status, 404, "another person");
}

#[tokio::test]
async fn streams_end_with_the_token_that_opened_them() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, ", clockSkew: 1s", "")).await;
    let ann = session(&proxy, &issuer.token("ann")).await;
    let listen = r#"{"notifications":{"toolsListChanged":true}}"#;
    let mut lifetime = 2;
    let (soon, mut listening, mut stream) = loop {
        let soon = issuer.token_with("ann", json!({"exp": now() + lifetime}));
        let short = client(&proxy, &soon);
        let listening = short.send(&HttpRequest::modern("1", "subscriptions/listen", listen)).await;
        let stream = short.send(&ann.in_session(HttpRequest::get())).await;
        if (listening.status, stream.status) == (200, 200) {
            break (soon, listening, stream);
        }
        // This machine is too slow for a token that short.
        assert!(lifetime < 100, "{} {}", listening.status, stream.status);
        lifetime *= 4;
    };
    listening.next_message().await.expect("an acknowledgment");
    for stream in [&mut stream, &mut listening] {
        assert!(stream.next_message().await.is_none(), "it ends with the token");
    }
    assert_eq!(status(&proxy, &soon).await, 401);
    // The session is still there for a new token.
    let renewed = client(&proxy, &issuer.token("ann"));
    assert_eq!(renewed.send(&ann.in_session(HttpRequest::get())).await.status, 200);
}

#[tokio::test]
async fn a_changed_config_holds_at_once() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let both = format!(", prefix: 'a:'}}, {{issuer: '{}', audiences: ['{AUDIENCE}'], prefix: 'b:'", other.url);
    let proxy = serving(&config(&issuer, &both, "")).await;
    let write = |text: String| drop(proxy.world.directory.write("proxy.yaml", &text));
    let (ann, bob) = (issuer.token("ann"), other.token("bob"));
    let stays = session(&proxy, &ann).await;
    let leaves = session(&proxy, &bob).await;
    let mut stream = leaves.get_stream().await;

    // The other issuer goes, and its sessions with it.
    write(config(&issuer, ", prefix: 'a:'", "").text());
    while status(&proxy, &bob).await != 401 {}
    assert!(stream.next_message().await.is_none(), "it ends with the right to it");
    let ping = |client: &HttpClient| client.legacy(&message::request("1", "ping", "{}"));
    assert_eq!(stays.send(&ping(&stays)).await.status, 200);
    write(config(&issuer, &both, "").text());
    while status(&proxy, &bob).await != 200 {}
    assert_eq!(leaves.send(&ping(&leaves)).await.status, 404);

    // Tokens for another audience are no longer good, though they were a moment ago.
    write(config(&issuer, ", prefix: 'a:'", "").text().replace(AUDIENCE, "api://other"));
    while status(&proxy, &ann).await != 401 {}
    let renewed = issuer.token_with("ann", json!({"aud": "api://other"}));
    assert_eq!(client(&proxy, &renewed).send(&ping(&stays)).await.status, 200);

    // The last issuer stays: without it, everybody would be let in.
    write(config(&issuer, "", "").text().split("auth:").next().unwrap_or_default().to_owned());
    proxy.program.stderr.line("which would disable authentication over HTTP").await;
    assert_eq!(proxy.client().send(&super::list()).await.status, 401);
}
