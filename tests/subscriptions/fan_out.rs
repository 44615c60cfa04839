//! Many clients of one server: one subscription at the server, and each client hears of its own.

use serde_json::json;

use super::{FAREWELL, GREETING, behind_an_address, count, era, on_a_pipe};
use crate::support::config::Config;
use crate::support::follower::{ERAS, HttpFollower, StdioFollower};
use crate::support::in_process::{HttpProxy, Proxy};
use crate::support::programs::fake_backend;
use crate::support::proxy;

#[tokio::test]
async fn each_client_hears_of_what_it_follows_and_of_nothing_else() {
    for server in ERAS {
        let proxy = Proxy::new(&on_a_pipe(server)).http().await;
        let mut others = HttpFollower::of(&proxy, false).await;
        for modern in ERAS {
            let mut first = HttpFollower::of(&proxy, modern).await;
            let mut second = HttpFollower::of(&proxy, modern).await;
            first.follow(&[GREETING]).await;
            second.follow(&[FAREWELL]).await;
            others.call("touch", json!({"uri": GREETING})).await.result();
            others.call("touch", json!({"uri": FAREWELL})).await.result();
            assert_eq!(first.updated().await, GREETING);
            assert_eq!(second.updated().await, FAREWELL);
        }
    }
}

async fn seen(client: &mut HttpFollower, wanted: &str) -> String {
    client.call("seen", json!({ "wait_for": wanted })).await.structured()
}

async fn three(proxy: &HttpProxy) -> (HttpFollower, HttpFollower, HttpFollower) {
    let session = HttpFollower::of(proxy, false).await;
    let listener = HttpFollower::of(proxy, true).await;
    (session, listener, HttpFollower::of(proxy, false).await)
}

#[tokio::test]
async fn a_session_based_server_is_subscribed_to_with_the_first_and_released_with_the_last() {
    let proxy = Proxy::new(&on_a_pipe(false)).http().await;
    let (mut session, mut listener, mut other) = three(&proxy).await;
    session.follow(&[GREETING]).await;
    listener.follow(&[GREETING]).await;
    let record = seen(&mut other, "resources/subscribe").await;
    assert_eq!(count(&record, "resources/subscribe"), 1, "{record}");
    assert_eq!(session.client.delete().await, 204);
    // The one that is left is still told.
    other.call("touch", json!({"uri": GREETING})).await.result();
    assert_eq!(listener.updated().await, GREETING);
    let record = seen(&mut other, "touch").await;
    assert_eq!(count(&record, "resources/unsubscribe"), 0, "{record}");
    listener.stream = None;
    let record = seen(&mut other, "resources/unsubscribe").await;
    assert_eq!(count(&record, "resources/unsubscribe"), 1, "{record}");
    assert_eq!(other.call("touch", json!({"uri": GREETING})).await.text(), "told 0");
}

#[tokio::test]
async fn a_stateless_server_gets_a_new_listen_before_the_old_one_ends() {
    let proxy = Proxy::new(&on_a_pipe(true)).http().await;
    let (mut session, mut listener, mut other) = three(&proxy).await;
    session.follow(&[GREETING]).await;
    listener.follow(&[FAREWELL]).await;
    let record = seen(&mut other, "notifications/cancelled").await;
    let record: serde_json::Value = serde_json::from_str(&record).expect("a record is JSON");
    let messages: Vec<&str> = record["messages"].as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
    let at = |part: &str| messages.iter().position(|message| message.contains(part)).expect(part);
    let both = messages.iter().position(|one| one.contains(GREETING) && one.contains(FAREWELL)).expect("one for both");
    assert!(at(GREETING) < both && both < at("notifications/cancelled"), "{messages:#?}");
    other.call("touch", json!({"uri": GREETING})).await.result();
    assert_eq!(session.updated().await, GREETING);
    session.client.delete().await;
    listener.stream = None;
    // Both are gone, and so is every listen that named a resource.
    loop {
        if other.call("touch", json!({"uri": FAREWELL})).await.text() == "told 0" {
            break;
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_its_pipe_releases_what_it_followed() {
    let (_server, config) = behind_an_address(false, &[]).await;
    // Another proxy, through which the test still sees the server.
    let proxy = Proxy::new(&config).http().await;
    let mut other = HttpFollower::of(&proxy, false).await;
    let mut leaving = StdioFollower::start(proxy::Proxy::new(&config), false).await;
    leaving.follow(&[GREETING]).await;
    assert!(leaving.proxy.client.finish().await.success());
    seen(&mut other, "DELETE session").await;
    assert_eq!(other.call("touch", json!({"uri": GREETING})).await.text(), "told 0");
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_flood_of_updates_reaches_a_client_as_a_few_and_holds_up_nobody() {
    for server in ERAS {
        let proxy = Proxy::new(&on_a_pipe(server)).http().await;
        for modern in ERAS {
            let mut flooded = HttpFollower::of(&proxy, modern).await;
            let mut idle = HttpFollower::of(&proxy, modern).await;
            let mut other = HttpFollower::of(&proxy, false).await;
            flooded.follow(&[GREETING, FAREWELL]).await;
            // This one never reads.
            idle.follow(&[GREETING]).await;
            other.call("touch", json!({"uri": GREETING, "n": 50_000})).await.result();
            other.call("echo", json!({"n": 1})).await.result();
            other.call("touch", json!({"uri": FAREWELL})).await.result();
            let mut told = 0;
            while flooded.updated().await != FAREWELL {
                told += 1;
            }
            assert!((1..5_000).contains(&told), "told {told} times");
        }
    }
}

#[tokio::test]
async fn a_client_with_a_connection_of_its_own_follows_on_that_one() {
    for server in ERAS {
        let backend = fake_backend(["--era", era(server), "--resources"]);
        let config = Config::new().server_with("fake", &backend, json!({"scope": "session"}));
        let proxy = Proxy::new(&config).http().await;
        let mut first = HttpFollower::of(&proxy, false).await;
        let mut second = HttpFollower::of(&proxy, false).await;
        assert_eq!(first.follow(&[GREETING, FAREWELL]).await, [GREETING, FAREWELL]);
        assert_eq!(second.follow(&[GREETING, FAREWELL]).await, [GREETING, FAREWELL]);
        // Each has a process of its own, and hears of that one only.
        assert_eq!(first.call("touch", json!({"uri": GREETING})).await.text(), "told 1");
        assert_eq!(second.call("touch", json!({"uri": FAREWELL})).await.text(), "told 1");
        assert_eq!(first.updated().await, GREETING);
        assert_eq!(second.updated().await, FAREWELL);
        // A connection that is lost is opened again for what is followed on it.
        first.call("crash", json!({})).await;
        assert_ne!(first.updated().await, "");
        // Whoever cannot be told from others has no connection of their own.
        let mut unknown = HttpFollower::of(&proxy, true).await;
        assert_eq!(unknown.follow(&[GREETING]).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_client_that_can_be_asked_follows_where_its_calls_go() {
    let proxy = Proxy::new(&on_a_pipe(false)).http().await;
    let mut plain = HttpFollower::of(&proxy, false).await;
    plain.follow(&[GREETING]).await;
    let mut asked = HttpFollower::of(&proxy, false).await;
    asked.client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await.result();
    asked.stream = Some(asked.client.get_stream().await);
    asked.follow(&[GREETING]).await;
    assert_eq!(asked.call("touch", json!({"uri": GREETING})).await.text(), "told 1");
    assert_eq!(asked.updated().await, GREETING);
}
