//! Redis that is away for a while: nothing ends by mistake, and no end is lost.

use super::{TOKENS, at, moved, replica, replicas, session, session_of, status, until_ended};
use crate::support::patience::within;
use crate::support::redis::Redis;

#[tokio::test]
async fn without_redis_known_sessions_go_on_and_others_are_asked_to_try_again() {
    let Some(mut redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let known = session(&one).await;
    let unknown = moved(&session(&one).await, &two);
    redis.kill();
    assert_eq!(status(&known).await, 200);
    let reply = unknown.send(&unknown.legacy(&crate::support::message::request("7", "ping", "{}"))).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("2")));
    redis.again().await;
    let revived = async { while status(&unknown).await != 200 {} };
    within("the revival", &two.program.stderr, revived).await;
}

#[tokio::test]
async fn an_end_while_redis_is_away_is_written_when_it_is_back() {
    let Some(mut redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), "").await;
    let client = session(&one).await;
    let elsewhere = moved(&client, &two);
    assert_eq!(status(&elsewhere).await, 200);
    redis.kill();
    assert_eq!(client.delete().await, 204);
    assert_eq!(status(&client).await, 404);
    assert_eq!(status(&elsewhere).await, 200, "nobody can tell it");
    redis.again().await;
    until_ended(&elsewhere, &two).await;
    let third = replica(&at(&redis.url()), "").await;
    assert_eq!(status(&moved(&client, &third)).await, 404);
}

#[tokio::test]
async fn the_operator_is_told_that_sessions_elsewhere_go_on_while_redis_is_away() {
    let Some(mut redis) = Redis::start().await else { return };
    let [one, two] = replicas(&redis.url(), TOKENS).await;
    let ann = session_of(&one, "secret-token-of-a").await;
    let elsewhere = session_of(&two, "secret-token-of-a").await;
    redis.kill();
    let ended = one.world.run(["sessions", "end", "--as-user", "ann"]).await.expect(1);
    assert!(ended.stdout.contains("1 session in use here"), "{ended:?}");
    assert!(ended.stderr.contains("sessions at other replicas go on"), "{ended:?}");
    assert_eq!((status(&ann).await, status(&elsewhere).await), (404, 200));
    redis.again().await;
    until_ended(&elsewhere, &two).await;
}

#[tokio::test]
async fn a_proxy_that_starts_without_redis_serves_and_shares_later() {
    let Some(mut redis) = Redis::start().await else { return };
    redis.kill();
    let [one, two] = replicas(&redis.url(), "").await;
    let client = session(&one).await;
    assert_eq!(status(&client).await, 200);
    redis.again().await;
    let elsewhere = moved(&client, &two);
    let revived = async { while status(&elsewhere).await != 200 {} };
    within("the revival", &two.program.stderr, revived).await;
    assert_eq!(elsewhere.delete().await, 204);
    until_ended(&client, &one).await;
}
