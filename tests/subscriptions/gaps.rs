//! Servers that come and go: what was followed is followed again, and a gap counts as an update.

use serde_json::json;

use super::{GREETING, behind_an_address, count, on_a_pipe};
use crate::support::follower::{ERAS, HttpFollower, StdioFollower};
use crate::support::in_process::Proxy;

#[tokio::test]
async fn a_server_that_was_started_again_is_subscribed_to_again() {
    for server in ERAS {
        for client in ERAS {
            let mut client = StdioFollower::start(Proxy::new(&on_a_pipe(server)), client).await;
            client.follow(&[GREETING]).await;
            client.call("crash", json!({})).await;
            // The proxy cannot know what happened in between, so it says that something may have.
            assert_eq!(client.updated().await, GREETING);
            assert_eq!(client.call("touch", json!({"uri": GREETING})).await.text(), "told 1");
            assert_eq!(client.updated().await, GREETING);
        }
    }
}

#[tokio::test]
async fn a_session_that_the_server_ended_is_opened_and_subscribed_again() {
    let (_server, config) = behind_an_address(false, &["--expire-session-after", "12"]).await;
    let proxy = Proxy::new(&config).http().await;
    let mut client = HttpFollower::of(&proxy, false).await;
    client.follow(&[GREETING]).await;
    // Calls until the session has expired and there is another one.
    loop {
        let record = client.call("seen", json!({})).await.structured();
        if count(&record, "resources/subscribe") > 1 {
            break;
        }
    }
    assert_eq!(client.updated().await, GREETING);
}

#[tokio::test]
async fn a_listen_that_the_server_ended_begins_again() {
    for http in [false, true] {
        let (_server, remote) = behind_an_address(true, &[]).await;
        let config = if http { remote } else { on_a_pipe(true) };
        let mut client = StdioFollower::start(Proxy::new(&config), false).await;
        client.follow(&[GREETING]).await;
        client.call("end_streams", json!({})).await.result();
        assert_eq!(client.updated().await, GREETING);
        client.call("touch", json!({"uri": GREETING})).await.result();
        assert_eq!(client.updated().await, GREETING);
    }
}

#[tokio::test]
async fn a_stream_of_a_session_that_broke_is_opened_again() {
    let (_server, config) = behind_an_address(false, &[]).await;
    let mut client = StdioFollower::start(Proxy::new(&config), false).await;
    client.follow(&[GREETING]).await;
    client.call("seen", json!({"wait_for": "GET session"})).await.result();
    client.call("end_streams", json!({})).await.result();
    assert_eq!(client.updated().await, GREETING);
}
