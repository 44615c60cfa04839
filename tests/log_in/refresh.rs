//! Tokens that expire are renewed by the proxy, once for everybody, and a log-in is never lost by that.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use crate::support::authorization_server::{AuthorizationServer, Fault};
use crate::support::log_ins::{log_in, record, state, world};
use crate::support::message;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::{Proxy, StdioProxy};

const CALLS: usize = 50;

async fn serving(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    proxy
}

/// Calls a tool many times at once; all of them work.
async fn call_at_once(proxy: &mut StdioProxy) {
    let mut calls = Vec::new();
    for number in 0..CALLS {
        calls.push(proxy.client.begin("tools/call", &message::call("echo", &format!("{{\"n\":{number}}}"))).await);
    }
    for (number, id) in calls.iter().enumerate() {
        assert_eq!(proxy.client.response(id).await.structured(), format!("{{\"n\":{number}}}"));
    }
}

#[tokio::test]
async fn fifty_calls_with_a_token_that_is_refused_cause_one_refresh() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mut proxy = serving(world).await;
    assert_eq!(authorization.seen().count("refresh_token"), 0);
    for refreshes in 1..=3 {
        authorization.end_access_tokens();
        call_at_once(&mut proxy).await;
        assert_eq!(authorization.seen().count("refresh_token"), refreshes);
    }
    assert_eq!(authorization.reuses(), 0);
    assert!(record(&proxy.world).contains(&authorization.newest("refresh")), "what is used is kept");
}

#[tokio::test]
async fn fifty_calls_at_the_moment_of_expiry_cause_one_refresh() {
    let authorization = AuthorizationServer::with(|settings| settings.lifetime = Some(2)).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let expiry = Instant::now() + Duration::from_secs(2);
    authorization.set(|settings| settings.lifetime = Some(3600));
    let mut proxy = serving(world).await;
    tokio::time::sleep_until(expiry).await;
    call_at_once(&mut proxy).await;
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
    // It was renewed by the clock: no request has shown the old token.
    assert!(server.visits().iter().all(|visit| visit.status != 401 || visit.authorization.is_none()));
}

#[tokio::test]
async fn five_processes_at_once_cause_one_refresh() {
    // The token of the log-in has expired when it comes.
    let authorization = AuthorizationServer::with(|settings| settings.lifetime = Some(0)).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    authorization.set(|settings| settings.lifetime = Some(3600));
    let before = authorization.seen().count("refresh_token");
    for finished in join_all((0..5).map(|_| world.run(["call", "echo"]))).await {
        finished.expect(0);
    }
    assert_eq!((authorization.seen().count("refresh_token") - before, authorization.reuses()), (1, 0));
}

#[tokio::test]
async fn five_processes_whose_token_is_refused_cause_one_refresh() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    authorization.end_access_tokens();
    for finished in join_all((0..5).map(|_| world.run(["call", "echo"]))).await {
        finished.expect(0);
    }
    assert_eq!((authorization.seen().count("refresh_token"), authorization.reuses()), (1, 0));
}

#[tokio::test]
async fn a_refresh_that_fails_for_now_keeps_the_log_in() {
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Status(429), Fault::Reset] {
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        log_in(&world).await.expect(0);
        let kept = authorization.newest("refresh");
        authorization.end_access_tokens();
        for _ in 0..3 {
            authorization.next("refresh_token", fault.clone());
        }
        let during = world.run(["call", "echo"]).await;
        assert_ne!(during.code, 0, "{fault:?}: {during:?}");
        assert!(!during.stderr.contains("proxy login"), "{fault:?}: nobody has to log in: {}", during.stderr);
        assert!(record(&world).contains(&kept), "{fault:?}");
        // As if it had come back by now.
        while authorization.withdraw("refresh_token") {}
        world.run(["call", "echo"]).await.expect(0);
        assert_eq!(authorization.reuses(), 0, "{fault:?}");
    }
}

#[tokio::test]
async fn an_authorization_server_that_is_down_for_a_while_costs_a_running_proxy_nothing() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mut proxy = serving(world).await;
    authorization.end_access_tokens();
    authorization.next("refresh_token", Fault::Status(503));
    let answer = proxy.client.call("echo", "{}").await;
    if answer.value()["result"]["isError"] == true {
        assert!(!answer.text().contains("proxy login"), "{}", answer.text());
    }
    assert_eq!(proxy.client.call_until_it_works("echo", r#"{"n":2}"#).await.structured(), r#"{"n":2}"#);
    assert_eq!(authorization.reuses(), 0);
}

#[tokio::test]
async fn a_log_in_that_was_ended_elsewhere_needs_another_and_the_client_stays_registered() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    authorization.end_log_ins();
    let refused = world.run(["call", "echo"]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("proxy login cloud"), "{}", refused.stderr);
    assert_eq!(authorization.seen().count("refresh_token"), 1, "it is not tried again and again");
    assert_eq!(state(&world).await["status"], "login");
    assert_eq!(authorization.seen().count("refresh_token"), 1, "there is nothing left to refresh with");
    let listed = world.run(["login", "--list"]).await.expect(1);
    assert!(listed.stdout.contains("cloud"), "{}", listed.stdout);
    log_in(&world).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 1);
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_refresh_that_gives_no_refresh_token_keeps_the_old_one() {
    let authorization = AuthorizationServer::with(|settings| settings.rotates = false).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let only = authorization.newest("refresh");
    for _ in 0..2 {
        authorization.end_access_tokens();
        world.run(["call", "echo"]).await.expect(0);
        assert_eq!(authorization.seen().last("refresh_token").get("refresh_token"), Some(only.as_str()));
    }
}

#[tokio::test]
async fn a_token_without_an_end_is_used_until_it_is_refused() {
    let authorization = AuthorizationServer::with(|settings| settings.lifetime = None).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
    assert_eq!(authorization.seen().count("refresh_token"), 0);
    authorization.end_access_tokens();
    world.run(["call", "echo"]).await.expect(0);
    assert_eq!(authorization.seen().count("refresh_token"), 1);
}

#[tokio::test]
async fn fewer_scopes_than_asked_for_are_said_and_a_refresh_asks_for_no_more() {
    let authorization = AuthorizationServer::with(|settings| {
        settings.grants_only = Some(vec!["read"]);
        settings.scopes_supported = Some(vec!["read", "write", "offline_access"]);
    })
    .await;
    let server = ProtectedServer::with(&authorization, |rules| rules.challenge_scope = Some("read write")).await;
    let world = world(&server);
    let done = log_in(&world).await.expect(0);
    assert!(done.stdout.contains("read"), "{}", done.stdout);
    assert_eq!(authorization.seen().last("authorize").get("scope"), Some("read write offline_access"));
    authorization.end_access_tokens();
    // The authorization server refuses more than it has granted.
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_log_in_without_a_refresh_token_ends_with_its_access_token() {
    let authorization = AuthorizationServer::with(|settings| settings.gives_refresh_tokens = false).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
    authorization.end_access_tokens();
    let refused = world.run(["call", "echo"]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("proxy login cloud"), "{}", refused.stderr);
    assert_eq!(authorization.seen().count("refresh_token"), 0);
}
