//! The same with a Redis Cluster of three nodes.

use serde_json::json;

use super::{TOKENS, moved, replica, replica_of, session, session_of, status, until_ended};
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::redis_cluster::RedisCluster;

const SCRIPT: &str = r#"sessionInit:
  script: |
    def count(args):
        allowed, _ = check_rate_limits([("count", 2, 3600), ("other", 5, 3600)])
        return "%s, own %d, shared %d" % (allowed, state.incr("n"), shared_state.incr("n"))

    publish(metadata("count", "Counts.", {}, {}), count)
"#;

#[tokio::test]
async fn limits_values_and_sessions_are_shared() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let store = format!("url: '{}'", cluster.url());
    let section = format!("{TOKENS}\n{SCRIPT}");
    let (one, two) = (replica(&store, &section).await, replica(&store, &section).await);
    let mut ann = session_of(&one, "secret-token-of-a").await;
    let mut elsewhere = moved(&ann, &two);
    let mut bob = session_of(&two, "secret-token-of-b").await;
    assert_eq!(ann.call("count", "{}").await.text(), "True, own 1, shared 1");
    assert_eq!(elsewhere.call("count", "{}").await.text(), "True, own 2, shared 2");
    assert_eq!(bob.call("count", "{}").await.text(), "False, own 1, shared 3");
    assert_eq!(ann.delete().await, 204);
    until_ended(&elsewhere, &two).await;
    assert_eq!(status(&bob).await, 200);
    let listed = async {
        loop {
            let all = one.world.run(["status", "--replicas", "--json"]).await.expect(0).json();
            if all["replicas"].as_array().is_some_and(|all| all.len() == 2) {
                return;
            }
        }
    };
    within("both proxies", &one.program.stderr, listed).await;
    let log = one.program.stderr.text() + &two.program.stderr.text();
    assert!(!log.contains("CROSSSLOT"), "{log}");
}

#[tokio::test]
async fn one_proxy_has_the_connection_of_a_session() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let store = format!("url: '{}'", cluster.url());
    let config = || Config::new().server_with("own", &fake_backend(["--era", "legacy"]), json!({"scope": "session"}));
    let (mut one, two) = (replica_of(config(), &store).await, replica_of(config(), &store).await);
    let mut client = session(&one).await;
    let process = client.call("pid", "{}").await.structured();
    let mut elsewhere = moved(&client, &two);
    let told = elsewhere.call("pid", "{}").await.raw;
    assert!(told.contains("hash by the `Mcp-Session-Id` header"), "{told}");
    one.program.terminate();
    assert!(one.program.exit().await.success());
    assert_ne!(elsewhere.call("pid", "{}").await.structured(), process);
    let log = one.program.stderr.text() + &two.program.stderr.text();
    assert!(!log.contains("CROSSSLOT"), "{log}");
}
