//! What has ended stays ended.

use super::{moved, replicas, session, status};

#[tokio::test]
async fn a_session_that_is_not_in_use_can_be_ended() {
    let [one, two] = replicas("").await;
    let client = session(&one).await;
    let elsewhere = moved(&client, &two);
    assert_eq!(elsewhere.delete().await, 204);
    assert_eq!(status(&elsewhere).await, 404);
    assert_eq!(elsewhere.delete().await, 404);
}

#[tokio::test]
async fn an_end_wins_against_a_request_that_brings_the_session_back() {
    let [one, two] = replicas("").await;
    for _ in 0..50 {
        let client = session(&one).await;
        let elsewhere = moved(&client, &two);
        let (_, ended, _) = tokio::join!(status(&elsewhere), elsewhere.delete(), status(&elsewhere));
        assert_eq!(ended, 204);
        assert_eq!(status(&elsewhere).await, 404);
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_session() {
    let [one, two] = replicas("").await;
    let client = session(&one).await;
    let elsewhere = moved(&client, &two);
    let mut news = elsewhere.get_stream().await;
    assert_eq!(elsewhere.delete().await, 204);
    while news.next_message().await.is_some() {}
    assert_eq!(elsewhere.get_stream().await.status, 404);
}
