//! A session that had to make room is forgotten, not ended.

use super::{proxy, session, status};
use crate::support::message;

#[tokio::test]
async fn a_session_that_made_room_comes_back() {
    // Half of them for all anonymous clients.
    let proxy = proxy("maxSessions: 6").await;
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(session(&proxy).await);
    }
    for client in &mut clients {
        assert_eq!(client.call("echo", "{}").await.structured(), "{}");
    }
}

#[tokio::test]
async fn where_all_sessions_are_in_use_none_comes_back() {
    let proxy = proxy("maxSessions: 2").await;
    let displaced = session(&proxy).await;
    let busy = session(&proxy).await;
    let stream = busy.get_stream().await;
    assert_eq!(stream.status, 200);
    let refused = displaced.send(&displaced.legacy(&message::request("7", "ping", "{}"))).await;
    assert_eq!(refused.status, 503);
    assert!(refused.response().await.error_message().contains("all of yours are in use"));
    assert_eq!(status(&busy).await, 200);
    assert_eq!(busy.delete().await, 204);
    assert_eq!(status(&displaced).await, 200, "there is room again");
}
