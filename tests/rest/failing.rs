//! Servers that cannot be woken, or end while they are awake.

use serde_json::json;

use super::{Server, lazy, session, status};
use crate::support::program::is_gone;

#[tokio::test]
async fn a_server_that_cannot_be_woken_stays_listed_with_its_error() {
    let server = Server::legacy();
    let more = json!({"start": "lazy", "grace": "0s", "circuitBreaker": {"failures": 2, "cooldown": "10m"}});
    let proxy = server.known(more).await.http().await;
    let mut client = session(&proxy).await;
    let tools = client.request("tools/list", "{}").await.tool_names();
    server.put("broken");
    // When it cannot be started, the call says why, it is tried once, and its tools stay.
    let refused = client.call("echo", "{}").await;
    assert!(refused.text().contains("server `fake` is not available"), "{}", refused.raw);
    assert_eq!(server.starts(), 1);
    let told = status(&proxy).await;
    assert_eq!(told["status"], "resting");
    assert!(told["error"].as_str().expect("an error").contains("no such database"), "{told}");
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), tools);
    // The breaker counts as ever: after two failures nothing is tried for a while.
    client.call("echo", "{}").await;
    let disabled = client.call("echo", "{}").await;
    assert!(disabled.text().contains("temporarily disabled after 2 consecutive failures"), "{}", disabled.raw);
    assert_eq!(server.starts(), 2);
    // An operator who has mended it starts it.
    server.remove("broken");
    proxy.world.run(["restart", "fake"]).await.expect(0);
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert_eq!(status(&proxy).await["error"], "");
}

#[tokio::test]
async fn a_server_that_was_mended_is_woken_by_the_next_call() {
    let server = Server::legacy();
    let proxy = server.known(lazy()).await.http().await;
    let mut client = session(&proxy).await;
    server.put("broken");
    assert!(client.call("echo", "{}").await.text().contains("server `fake` is not available"));
    server.remove("broken");
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert_eq!((server.starts(), status(&proxy).await["status"].clone()), (2, json!("ready")));
}

#[tokio::test]
async fn many_calls_that_wake_it_in_vain_count_as_one_failure() {
    let server = Server::legacy();
    let more = json!({"start": "lazy", "circuitBreaker": {"failures": 2, "cooldown": "10m"}});
    let proxy = server.known(more).await.http().await;
    server.put("gate");
    server.put("broken");
    let call = |_| {
        let url = proxy.url.clone();
        let log = proxy.program.stderr.clone();
        tokio::spawn(async move {
            let mut client = crate::support::http_client::HttpClient::new(&url, log);
            client.modern_call("echo", "{}").await.text()
        })
    };
    let calls: Vec<_> = (0..10).map(call).collect();
    server.started(1, &proxy).await;
    server.remove("gate");
    for call in calls {
        let text = call.await.expect("it ends");
        assert!(text.contains("server `fake` is not available"), "{text}");
    }
    server.remove("broken");
    assert!(!proxy.client().modern_call("echo", r#"{"a":1}"#).await.structured().is_empty(), "it is not disabled");
}

#[tokio::test]
async fn a_server_that_dies_when_it_is_woken_is_woken_again() {
    let server = Server::legacy();
    let proxy = server.known(lazy()).await.http().await;
    let mut client = session(&proxy).await;
    let lost = client.call("crash", "{}").await;
    assert!(lost.text().contains("server `fake` failed before it responded"), "{}", lost.raw);
    assert!(client.request("tools/list", "{}").await.tool_names().contains(&"echo".to_owned()));
    assert!(client.call("echo", r#"{"a":1}"#).await.structured().contains(r#""a":1"#));
    assert_eq!(server.starts(), 2);
}

#[tokio::test]
async fn a_server_that_dies_while_nobody_uses_it_is_not_started_for_that() {
    let server = Server::legacy();
    let proxy = server.known(lazy()).await.http().await;
    let mut client = session(&proxy).await;
    client.call("echo", "{}").await.result();
    let process = status(&proxy).await["processes"][0]["pid"].as_u64().expect("a process");
    let id = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw).expect("an id");
    rustix::process::kill_process(id, rustix::process::Signal::KILL).expect("it is killed");
    is_gone(u32::try_from(process).expect("an id"), &proxy.program.stderr).await;
    proxy.program.stderr.line("fake: connection lost").await;
    let told = status(&proxy).await;
    assert_eq!((&told["status"], server.starts()), (&json!("resting"), 1), "{told}");
    client.call("echo", "{}").await.result();
    assert_eq!(server.starts(), 2);
}
