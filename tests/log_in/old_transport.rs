//! The transport of 2024-11-05 with a log-in: the token is on the stream and on everything that is posted.

use http::Method;
use serde_json::json;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, world_with};
use crate::support::protected_server::ProtectedServer;

const FLAGS: [&str; 6] = ["--era", "legacy", "--only", "echo", "--old-sse", "relative"];

#[tokio::test]
async fn a_stream_and_its_messages_carry_the_token() {
    for keys in [json!({"type": "sse"}), json!({})] {
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::before(&authorization, &FLAGS, |_| ()).await;
        let world = world_with(&server.url, keys.clone());
        log_in(&world).await.expect(0);
        let mut proxy = world.stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
        assert_eq!(proxy.client.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);

        // A token that ends while the stream is open is renewed for what is posted next.
        authorization.end_access_tokens();
        assert_eq!(proxy.client.call_until_it_works("echo", r#"{"n":2}"#).await.structured(), r#"{"n":2}"#);
        assert_eq!(authorization.seen().count("refresh_token"), 1, "{keys}");
        let let_in: Vec<_> = server.visits().into_iter().filter(|visit| visit.status < 300).collect();
        assert!(let_in.iter().all(|visit| visit.authorization.is_some()), "{keys}: {let_in:?}");
        for (verb, path) in [(Method::GET, "/mcp"), (Method::POST, "/messages")] {
            assert!(let_in.iter().any(|visit| visit.verb == verb && visit.path == path), "{keys}: {let_in:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_sends_messages_elsewhere_is_not_followed_with_a_token() {
    let authorization = AuthorizationServer::start().await;
    let flags = ["--era", "legacy", "--old-sse", "elsewhere"];
    let server = ProtectedServer::before(&authorization, &flags, |_| ()).await;
    let world = world_with(&server.url, json!({"type": "sse"}));
    log_in(&world).await;
    let state = crate::support::log_ins::state(&world).await;
    assert_ne!(state["status"], "ready", "{state}");
}
