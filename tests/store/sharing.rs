//! Several proxies with one Redis, and what their clients see when it is gone.

use super::{TOKENS, session_of, world};
use crate::support::finished::Finished;
use crate::support::redis::Redis;

const SCRIPT: &str = r#"
def count(args):
    allowed, retry_after = check_rate_limit("count", 3, 3600)
    if not allowed:
        return error("wait %d s" % retry_after)
    return "own %d, shared %d" % (state.incr("n"), shared_state.incr("n"))

publish(metadata("count", "Counts.", {}, {}), count)
"#;

fn sections(redis: &Redis) -> String {
    format!("{TOKENS}\nstore: {{url: '{}'}}", redis.url())
}

#[tokio::test]
async fn proxies_that_name_one_redis_share_limits_and_what_is_remembered() {
    let Some(redis) = Redis::start().await else { return };
    let one = world(&sections(&redis), SCRIPT).http().await;
    let other = world(&sections(&redis), SCRIPT).http().await;
    let mut ann = session_of(&one, "secret-token-of-a").await;
    let mut ann_elsewhere = session_of(&other, "secret-token-of-a").await;
    let mut bob = session_of(&other, "secret-token-of-b").await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 1");
    assert_eq!(ann_elsewhere.call("count", "{}").await.text(), "own 2, shared 2");
    assert_eq!(bob.call("count", "{}").await.text(), "own 1, shared 3");
    assert_eq!(ann.call("count", "{}").await.text(), "wait 1200 s");
    assert_eq!(bob.call("count", "{}").await.text(), "wait 1200 s");
}

#[tokio::test]
async fn a_redis_that_is_gone_is_an_error_of_the_call_until_it_is_back() {
    let Some(mut redis) = Redis::start_with(Some("s3cret")).await else { return };
    let proxy = world(&sections(&redis), SCRIPT).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 1");
    redis.kill();
    let answer = ann.call("count", "{}").await;
    assert_eq!(answer.value()["result"]["isError"], true);
    let expected = format!("store `{}` is unavailable: ", redis.name());
    assert!(answer.text().starts_with(&expected), "{}", answer.text());
    redis.again().await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 1");
    let log = proxy.program.stderr.text();
    assert!(!log.contains("s3cret") && !answer.text().contains("s3cret"), "{log}");
}

#[tokio::test]
async fn an_address_that_cannot_be_is_told_at_the_start_and_by_check() {
    let proxy = world("store: {url: 'redis://:s3cret@host:no-port/0'}", SCRIPT);
    for arguments in [&["serve", "--config", "proxy.yaml"][..], &["check", "--config", "proxy.yaml"][..]] {
        let finished = Finished::run(proxy.command(arguments.iter().copied())).await.expect(2);
        assert!(finished.stderr.contains("`store.url`: "), "{}", finished.stderr);
        assert!(!finished.stderr.contains("s3cret"), "{}", finished.stderr);
    }
}

#[tokio::test]
async fn an_encrypted_redis_is_used_if_its_certificate_is_trusted() {
    let Some(redis) = Redis::start_encrypted().await else { return };
    let proxy = world(&sections(&redis), SCRIPT).environment("SSL_CERT_FILE", &redis.authority()).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(ann.call("count", "{}").await.text(), "own 1, shared 1");
    assert_eq!(ann.call("count", "{}").await.text(), "own 2, shared 2");

    let wary = world(&sections(&redis), SCRIPT).http().await;
    let refused = session_of(&wary, "secret-token-of-a").await.call("count", "{}").await;
    assert_eq!(refused.value()["result"]["isError"], true);
    let text = refused.text();
    assert!(text.starts_with(&format!("store `{}` is unavailable: ", redis.name())), "{text}");
    assert!(text.contains("certificate"), "{text}");
}
