//! A proxy that serves while somebody logs in: nobody restarts anything.

use serde_json::json;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::config::Config;
use crate::support::log_ins::{SERVER, log_in, with_browser, world};
use crate::support::programs::fake_backend;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_log_in_brings_the_tools_to_clients_that_are_there_already() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::before(&authorization, &["--only", "echo,add_tool"], |_| ()).await;
    let config = Config::new()
        .server("near", &fake_backend(["--only", "seen"]))
        .remote_with(SERVER, &server.url, json!({}))
        .section("sessionInit: {preset: passthrough}");
    let mut proxy = with_browser(Proxy::new(&config)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    // The other server is there, and this one is not waited for.
    let tools = proxy.client.tools_until(|names| names.iter().any(|name| name == "seen")).await;
    assert_eq!(tools, ["seen"]);
    proxy.client.call("seen", "{}").await.structured();

    log_in(&proxy.world).await.expect(0);
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    assert_eq!(proxy.client.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);

    // Refused once by the proxy that serves and once by the command, in at most two eras: no loop.
    let refused = server.visits().iter().filter(|visit| visit.status == 401).count();
    assert!(refused <= 6, "{:?}", server.visits());
}

#[tokio::test]
async fn a_log_in_that_ends_while_serving_is_made_again_without_a_restart() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    proxy.client.call("echo", "{}").await.structured();

    authorization.end_log_ins();
    let refused = proxy.client.call("echo", "{}").await;
    assert!(refused.raw.contains("proxy login cloud"), "{}", refused.raw);
    let visits = server.visits().len();
    // Calls in the meantime get the same answer, and the server is left alone.
    for _ in 0..5 {
        let refused = proxy.client.call("echo", "{}").await;
        assert!(refused.raw.contains("proxy login cloud"), "{}", refused.raw);
    }
    assert!(server.visits().len() <= visits + 2, "{:?}", &server.visits()[visits..]);
    assert_eq!(authorization.seen().count("refresh_token"), 1);

    log_in(&proxy.world).await.expect(0);
    assert_eq!(proxy.client.call_until_it_works("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
}

#[tokio::test]
async fn a_server_that_is_required_and_waits_for_a_log_in_ends_the_start() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = crate::support::log_ins::world_with(&server.url, json!({"required": true}));
    let ended = world.run(["serve"]).await.expect(1);
    assert!(ended.stderr.contains("proxy login cloud"), "{}", ended.stderr);
}
