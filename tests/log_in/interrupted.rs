//! A log-in survives whatever happens to the proxy while it is renewed.

use std::time::Duration;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, record, state, world};
use crate::support::message;
use crate::support::patience::within;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::stderr_log::StderrLog;

/// A proxy that serves, whose token has just ended.
async fn serving(authorization: &AuthorizationServer, server: &ProtectedServer) -> StdioProxy {
    let world = world(server);
    log_in(&world).await.expect(0);
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    authorization.end_access_tokens();
    proxy
}

/// Waits until the newest tokens are on disk.
async fn saved(world: &Proxy, authorization: &AuthorizationServer, log: &StderrLog) {
    let there = async {
        while !record(world).contains(&authorization.newest("refresh")) {
            // No event tells of another process's file.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within("the new tokens on disk", log, there).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_does_not_stop_the_refresh_it_has_caused() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    let answer = authorization.hold_answer("refresh_token");
    let id = proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    answer.arrived(proxy.client.stderr()).await;
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    // Whatever is said next has been read after it.
    proxy.client.request("ping", "{}").await.result();
    answer.release();
    saved(&proxy.world, &authorization, proxy.client.stderr()).await;
    assert_eq!(proxy.client.call_until_it_works("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
}

#[tokio::test]
async fn a_proxy_that_is_stopped_finishes_the_refresh_first() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    let answer = authorization.hold_answer("refresh_token");
    proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    answer.arrived(proxy.client.stderr()).await;
    proxy.client.program.terminate();
    // It has been told, and the answer comes a moment later.
    tokio::time::sleep(Duration::from_millis(100)).await;
    answer.release();
    proxy.client.program.exit().await;
    assert!(record(&proxy.world).contains(&authorization.newest("refresh")));
    proxy.world.run(["call", "echo"]).await.expect(0);
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
}

#[tokio::test]
async fn a_proxy_that_is_killed_before_its_request_is_read_has_lost_nothing() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    let request = authorization.hold("refresh_token");
    proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    request.arrived(proxy.client.stderr()).await;
    proxy.client.program.kill();
    proxy.client.program.exit().await;
    proxy.world.run(["call", "echo"]).await.expect(0);
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (2, 0));
}

#[tokio::test]
async fn a_proxy_that_is_killed_before_the_answer_comes_asks_for_a_log_in_and_does_not_go_on_trying() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    let answer = authorization.hold_answer("refresh_token");
    proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    answer.arrived(proxy.client.stderr()).await;
    proxy.client.program.kill();
    proxy.client.program.exit().await;
    // The old token is spent, and the new one was never heard of: this cannot be saved.
    let refused = proxy.world.run(["call", "echo"]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("proxy login cloud"), "{}", refused.stderr);
    assert_eq!(state(&proxy.world).await["status"], "login");
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (2, 1));
    log_in(&proxy.world).await.expect(0);
    proxy.world.run(["call", "echo"]).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 1, "the client is still registered");
}

#[tokio::test]
async fn a_proxy_that_is_killed_as_soon_as_the_new_tokens_are_on_disk_has_lost_nothing() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    proxy.client.begin("tools/call", &message::call("echo", "{}")).await;
    authorization.seen().times("refresh_token", 1, proxy.client.stderr()).await;
    saved(&proxy.world, &authorization, proxy.client.stderr()).await;
    proxy.client.program.kill();
    proxy.client.program.exit().await;
    proxy.world.run(["call", "echo"]).await.expect(0);
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
}

#[tokio::test]
async fn an_answer_that_is_lost_on_its_way_is_not_waited_for_in_a_loop() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let mut proxy = serving(&authorization, &server).await;
    authorization.next("refresh_token", crate::support::authorization_server::Fault::AnswerLost);
    // At first it has failed for now; with the next attempt it is known that the token is spent.
    let log = proxy.client.stderr().clone();
    let known = async { while !proxy.client.call("echo", "{}").await.raw.contains("proxy login cloud") {} };
    within("that somebody is asked to log in", &log, known).await;
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (2, 1));
    log_in(&proxy.world).await.expect(0);
    assert_eq!(proxy.client.call_until_it_works("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
}
