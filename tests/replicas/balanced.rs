//! Proxies with one Redis behind a load balancer, with the configs of `contrib/replicas/`.

use std::collections::BTreeSet;
use std::pin::pin;

use super::{FORMS, KEY, at, status};
use crate::support::balancer::{Balancer, Balancing, Upstream};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::within;
use crate::support::program::is_gone;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;
use crate::support::stderr_log::StderrLog;
use crate::support::{envoy, haproxy, message, nginx};

/// A replica with a server of its own, with these settings in its section `serve`.
async fn replica(redis: &Redis, serve: &str) -> HttpProxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy"]))
        .section(&format!("store: {{{}}}", at(&redis.url())))
        .section(&format!("serve: {{stateKeys: [{KEY}], {serve}}}"))
        .section("telemetry: {metrics: '127.0.0.1:0'}");
    Proxy::new(&config).http().await
}

/// Two replicas, and where a balancer finds them.
async fn replicas(redis: &Redis) -> ([HttpProxy; 2], [Upstream; 2]) {
    replicas_with(redis, "").await
}

/// The same where a balancer has five seconds to see that one of them leaves.
async fn draining_replicas(redis: &Redis) -> ([HttpProxy; 2], [Upstream; 2]) {
    replicas_with(redis, "drainDelay: 5s, drainTimeout: 30s").await
}

async fn replicas_with(redis: &Redis, serve: &str) -> ([HttpProxy; 2], [Upstream; 2]) {
    let [one, two] = [replica(redis, serve).await, replica(redis, serve).await];
    let upstreams = [Upstream::of(&one).await, Upstream::of(&two).await];
    ([one, two], upstreams)
}

async fn session(balancer: &Balancer) -> HttpClient {
    let mut client = balancer.client();
    client.initialize_with("2025-11-25", FORMS).await.result();
    client
}

/// The servers that get the calls of a session: one for each replica that serves it.
async fn servers(client: &mut HttpClient) -> BTreeSet<String> {
    let mut servers = BTreeSet::new();
    for _ in 0..8 {
        servers.insert(client.call("pid", "{}").await.structured());
    }
    servers
}

/// A call asks the client, and gets its answer.
async fn asks_and_is_answered(client: &HttpClient) {
    let call = message::request("70", "tools/call", &message::call("ask", r#"{"message":"?"}"#));
    let mut reply = client.send(&client.legacy(&call)).await;
    let id = reply.next_message().await.and_then(|question| question.id()).expect("a question has an id");
    let answer = message::result(&id, r#"{"action":"decline","content":{}}"#);
    assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
    let response = reply.response().await;
    assert!(response.raw.contains("decline"), "{}", response.raw);
}

/// The client ends its session, and no replica knows it any more.
async fn ends(client: &HttpClient, log: &StderrLog) {
    assert_eq!(client.delete().await, 204);
    let ended = async { while (status(client).await, status(client).await) != (404, 404) {} };
    within("the end of the session at both replicas", log, ended).await;
}

/// Given a balancer that takes the replicas in turn, each of them serves every session.
async fn every_replica_serves_a_session(balancer: &Balancer, log: &StderrLog) {
    for _ in 0..3 {
        let mut client = session(balancer).await;
        assert_eq!(servers(&mut client).await.len(), 2);
        // The answer comes to the other replica.
        for _ in 0..3 {
            asks_and_is_answered(&client).await;
        }
        ends(&client, log).await;
    }
}

/// Given a balancer that hashes by session, one replica serves all requests of a session, and both have some.
async fn one_replica_serves_a_session(balancer: &Balancer, log: &StderrLog) {
    let mut used = BTreeSet::new();
    while used.len() < 2 {
        let mut client = session(balancer).await;
        let mut servers = servers(&mut client).await;
        assert_eq!(servers.len(), 1, "{servers:?}");
        used.append(&mut servers);
        asks_and_is_answered(&client).await;
        ends(&client, log).await;
    }
}

#[tokio::test]
async fn behind_nginx_that_takes_them_in_turn_every_replica_serves_a_session() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, _two], upstreams) = replicas(&redis).await;
    let Some(nginx) = nginx::start(&upstreams, Balancing::InTurn).await else { return };
    every_replica_serves_a_session(&nginx, &one.program.stderr).await;
}

#[tokio::test]
async fn behind_nginx_that_hashes_one_replica_serves_a_session() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, _two], upstreams) = replicas(&redis).await;
    let Some(nginx) = nginx::start(&upstreams, Balancing::BySession).await else { return };
    one_replica_serves_a_session(&nginx, &one.program.stderr).await;
}

#[tokio::test]
async fn behind_haproxy_that_takes_them_in_turn_every_replica_serves_a_session() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, _two], upstreams) = replicas(&redis).await;
    let Some(haproxy) = haproxy::start(&upstreams, Balancing::InTurn).await else { return };
    every_replica_serves_a_session(&haproxy, &one.program.stderr).await;
}

#[tokio::test]
async fn behind_haproxy_that_hashes_one_replica_serves_a_session() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, _two], upstreams) = replicas(&redis).await;
    let Some(haproxy) = haproxy::start(&upstreams, Balancing::BySession).await else { return };
    one_replica_serves_a_session(&haproxy, &one.program.stderr).await;
}

#[tokio::test]
#[ignore = "a real Envoy from PyPI"]
async fn behind_envoy_it_is_the_same() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, _two], upstreams) = replicas(&redis).await;
    let Some(in_turn) = envoy::start(&upstreams, Balancing::InTurn).await else { return };
    every_replica_serves_a_session(&in_turn, &one.program.stderr).await;
    let Some(by_session) = envoy::start(&upstreams, Balancing::BySession).await else { return };
    one_replica_serves_a_session(&by_session, &one.program.stderr).await;
}

async fn calls(client: &mut HttpClient) {
    assert_eq!(client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
}

/// Given sessions in use, when one of two replicas gets the signal to stop, no call fails, neither until its end nor later.
async fn no_call_fails_while_a_replica_leaves(balancer: &Balancer, leaving: &mut HttpProxy) {
    let mut first = session(balancer).await;
    let mut second = session(balancer).await;
    leaving.program.terminate();
    let mut end = pin!(leaving.program.exit());
    loop {
        tokio::select! {
            status = &mut end => {
                assert!(status.success());
                break;
            }
            _ = async { tokio::join!(calls(&mut first), calls(&mut second)) } => {}
        }
    }
    for client in [&mut first, &mut second] {
        assert_eq!(servers(client).await.len(), 1, "the other replica serves everybody");
    }
}

#[tokio::test]
#[ignore = "a replica that leaves slowly"]
async fn behind_haproxy_no_call_fails_while_a_replica_leaves() {
    let Some(redis) = Redis::start().await else { return };
    for balancing in [Balancing::InTurn, Balancing::BySession] {
        let ([mut one, _two], upstreams) = draining_replicas(&redis).await;
        let Some(haproxy) = haproxy::start(&upstreams, balancing).await else { return };
        no_call_fails_while_a_replica_leaves(&haproxy, &mut one).await;
    }
}

#[tokio::test]
#[ignore = "a replica that leaves slowly"]
async fn behind_envoy_no_call_fails_while_a_replica_leaves() {
    let Some(redis) = Redis::start().await else { return };
    for balancing in [Balancing::InTurn, Balancing::BySession] {
        let ([mut one, _two], upstreams) = draining_replicas(&redis).await;
        let Some(envoy) = envoy::start(&upstreams, balancing).await else { return };
        no_call_fails_while_a_replica_leaves(&envoy, &mut one).await;
    }
}

#[tokio::test]
async fn behind_nginx_sessions_go_on_after_the_end_of_a_replica() {
    let Some(redis) = Redis::start().await else { return };
    let ([one, two], upstreams) = replicas(&redis).await;
    let Some(nginx) = nginx::start(&upstreams, Balancing::BySession).await else { return };
    let mut clients = [session(&nginx).await, session(&nginx).await, session(&nginx).await];
    // Nobody is told: nginx finds out by itself.
    one.program.kill();
    is_gone(one.program.id(), &two.program.stderr).await;
    for client in &mut clients {
        finds_out(client).await;
        assert_eq!(servers(client).await.len(), 1, "the other replica serves everybody");
    }
}

/// nginx answers 502 for a request that it has sent to a process as that one ended: it must not send a POST twice.
async fn finds_out(client: &HttpClient) {
    let ping = message::request("80", "ping", "{}");
    while client.send(&client.legacy(&ping)).await.status == 502 {}
}
