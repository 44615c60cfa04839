//! A session that ends at one proxy ends at all of them.

use serde_json::json;

use super::{TOKENS, at, moved, replica, replicas, session, session_of, status, until_ended};
use crate::support::redis::Redis;

#[tokio::test]
async fn a_session_that_its_client_ends_is_refused_by_every_proxy() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let third = replica(&at(&redis.url()), "").await;
    let client = session(&one).await;
    let elsewhere = moved(&client, &two);
    assert_eq!(status(&elsewhere).await, 200);
    let mut listening = elsewhere.get_stream().await;
    assert_eq!(client.delete().await, 204);
    assert_eq!(status(&moved(&client, &third)).await, 404, "one that has never seen it");
    // One that has it in its table is told.
    while listening.next_message().await.is_some() {}
    assert_eq!(status(&elsewhere).await, 404);
    assert_eq!(elsewhere.delete().await, 404);
}

#[tokio::test]
async fn an_end_at_one_proxy_wins_against_a_revival_at_another() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    for _ in 0..30 {
        let client = session(&one).await;
        let elsewhere = moved(&client, &two);
        let (ended, _) = tokio::join!(client.delete(), status(&elsewhere));
        assert_eq!(ended, 204);
        until_ended(&elsewhere, &two).await;
    }
}

#[tokio::test]
async fn the_operator_ends_sessions_of_every_proxy_at_one_of_them() {
    let Some(redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), TOKENS).await;
    let (ann, bob) = (session_of(&one, "secret-token-of-a").await, session_of(&one, "secret-token-of-b").await);
    let listed = one.world.run(["sessions", "--json"]).await.expect(0).json();
    let of_bob = listed["sessions"].as_array().into_iter().flatten().find(|session| session["user"] == "bob");
    let digest = of_bob.expect("bob has a session")["digest"].as_str().expect("a digest").to_owned();
    // Neither is in use at the second proxy, which ends them.
    assert_eq!(two.world.run(["sessions", "end", &digest, "--json"]).await.expect(0).json(), json!({"ended": 0}));
    until_ended(&bob, &one).await;
    assert_eq!(status(&ann).await, 200);
    let unused = session_of(&two, "secret-token-of-a").await;
    assert_eq!(two.world.run(["sessions", "end", "--as-user", "ann", "--json"]).await.expect(0).json()["ended"], 1);
    until_ended(&ann, &one).await;
    assert_eq!(status(&moved(&unused, &one)).await, 404);
    let later = session_of(&two, "secret-token-of-a").await;
    assert_eq!(status(&moved(&later, &one)).await, 200, "a session that was opened afterwards");
}

#[tokio::test]
async fn proxies_with_another_prefix_have_nothing_in_common() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&at(&redis.url()), "").await;
    let other = replica(&format!("{}, prefix: 'team-b:'", at(&redis.url())), "").await;
    let client = session(&one).await;
    assert_eq!(client.delete().await, 204);
    assert_eq!(status(&moved(&client, &other)).await, 200, "its end is elsewhere");
    assert!(redis.ask(&["KEYS", "team-b:*"]).await.contains("team-b::{"));
}
