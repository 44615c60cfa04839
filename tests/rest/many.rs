//! Several threads, several processes, and a config that changes.

use serde_json::json;

use super::{Server, lazy, rested, session, status};
use crate::support::http_client::HttpClient;
use crate::support::patience::within;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

async fn calls(proxy: &HttpProxy, count: usize) {
    let call = |number: usize| {
        let url = proxy.url.clone();
        let log = proxy.program.stderr.clone();
        tokio::spawn(async move {
            let mut client = HttpClient::new(&url, log);
            let arguments = format!(r#"{{"n":{number}}}"#);
            let answer = match number % 2 {
                0 => client.modern_call("echo", &arguments).await,
                _ => {
                    client.initialize("2025-11-25").await.result();
                    client.call("echo", &arguments).await
                }
            };
            assert!(answer.structured().contains(&format!(r#""n":{number}"#)), "{}", answer.raw);
        })
    };
    let calls: Vec<_> = (0..count).map(call).collect();
    for call in calls {
        call.await.expect("it ends");
    }
}

#[tokio::test]
async fn with_several_threads_a_server_is_started_once_and_stopped_when_all_are_done() {
    let server = Server::legacy();
    let config = server.config(json!({"start": "lazy", "idleStop": "300ms"})).section("serve: {threads: 3}");
    let proxy = Proxy::new(&config).argument("--log=debug");
    server.seen_by(&proxy).await;
    let proxy = proxy.http().await;
    for round in 1..=3 {
        calls(&proxy, 24).await;
        rested(&proxy, "fake", round).await;
        assert_eq!(proxy.program.stderr.text().matches("fake: up in").count(), round);
    }
}

#[tokio::test]
async fn each_replica_wakes_its_own_process() {
    let Some(redis) = Redis::start().await else { return };
    let server = Server::legacy();
    let config = server
        .config(json!({"start": "lazy", "idleStop": "300ms"}))
        .section(&format!("store: {{url: '{}'}}", redis.url()))
        .section("serve: {stateKeys: [the-same-key-of-more-than-thirty-two-bytes]}");
    let replica = async || {
        let proxy = Proxy::new(&config).argument("--log=debug");
        server.seen_by(&proxy).await;
        proxy.http().await
    };
    let one = replica().await;
    let two = replica().await;
    // A session that was opened at one is served by the other.
    let mut client = session(&one).await;
    client.call("echo", "{}").await.result();
    let mut moved = client.moved_to(&two.url, &two.program.stderr);
    assert_eq!((server.starts(), status(&two).await["status"].clone()), (1, json!("resting")));
    moved.call("echo", "{}").await.result();
    assert_eq!(server.starts(), 2);
    rested(&one, "fake", 1).await;
    rested(&two, "fake", 1).await;
    assert!(moved.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_reload_makes_a_running_server_lazy() {
    let server = Server::legacy();
    let proxy = Proxy::new(&server.config(json!({}))).argument("--log=debug").http().await;
    let mut client = session(&proxy).await;
    client.call("echo", "{}").await.result();
    assert_eq!(server.starts(), 1);
    proxy.world.directory.write("proxy.yaml", &server.config(lazy()).text());
    let resting = async { while status(&proxy).await["status"] != "resting" {} };
    within("the rest of the server", &proxy.program.stderr, resting).await;
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
    assert_eq!(server.starts(), 1, "its lists are known");
}

#[tokio::test]
async fn a_proxy_that_stops_leaves_no_process_of_a_server_that_is_being_woken() {
    let server = Server::legacy();
    let mut proxy = server.known(lazy()).await.http().await;
    server.put("gate");
    let url = proxy.url.clone();
    let log = proxy.program.stderr.clone();
    let waiting = tokio::spawn(async move { HttpClient::new(&url, log).modern_call("echo", "{}").await });
    server.started(1, &proxy).await;
    proxy.program.terminate();
    assert_eq!(proxy.program.exit().await.code(), Some(0));
    waiting.abort();
}
