//! `proxy status --replicas`: every proxy that shares the store.

use serde_json::Value;

use super::{at, replica, replica_of, replicas, session};
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

async fn listed(proxy: &HttpProxy) -> Value {
    proxy.world.run(["status", "--replicas", "--json"]).await.expect(0).json()
}

/// Waits until so many are listed.
async fn listed_until(proxy: &HttpProxy, is_done: impl Fn(&[Value]) -> bool) -> Value {
    let found = async {
        loop {
            let listed = listed(proxy).await;
            if is_done(listed["replicas"].as_array().expect("a list")) {
                return listed;
            }
        }
    };
    within("the list of proxies", &proxy.program.stderr, found).await
}

#[tokio::test]
async fn every_proxy_is_listed_at_every_other() {
    let Some(redis) = Redis::start().await else { return };
    let [mut one, two] = replicas(&redis.url(), "").await;
    let _client = session(&two).await;
    let all = listed_until(&one, |all| all.len() == 2).await;
    let here = all["home"].as_str().expect("the process that was asked");
    let homes: Vec<&Value> = all["replicas"].as_array().expect("a list").iter().collect();
    assert!(homes.iter().any(|replica| replica["home"] == here), "{all}");
    assert!(homes.iter().all(|replica| replica["hasOtherKeys"] == false && replica["pid"].is_u64()), "{all}");
    listed_until(&one, |all| all.iter().any(|replica| replica["sessions"] == 1)).await;
    let told = two.world.run(["status", "--replicas"]).await.expect(0).stdout;
    assert!(told.contains("HOME") && told.contains("(this process)") && told.contains(here), "{told}");
    one.program.terminate();
    assert!(one.program.exit().await.success());
    assert_eq!(listed(&two).await["replicas"].as_array().map(Vec::len), Some(1), "it has said that it leaves");
}

#[tokio::test]
async fn one_with_other_keys_is_told_apart() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&at(&redis.url()), "").await;
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy"]))
        .section(&format!("store: {{{}}}", at(&redis.url())))
        .section("serve: {stateKeys: [another-key-of-more-than-thirty-two-bytes]}");
    let _other = Proxy::new(&config).http().await;
    let all = listed_until(&one, |all| all.len() == 2).await;
    let others = all["replicas"].as_array().into_iter().flatten().filter(|replica| replica["hasOtherKeys"] == true);
    assert_eq!(others.count(), 1, "{all}");
    let told = one.world.run(["status", "--replicas"]).await.expect(0).stdout;
    assert!(told.contains("has other `stateKeys`"), "{told}");
}

#[tokio::test]
async fn a_proxy_without_a_shared_store_says_what_it_takes() {
    let proxy = replica_of(Config::new().server("fake", &fake_backend(["--era", "legacy"])), "url: 'memory://'").await;
    let told = proxy.world.run(["status", "--replicas"]).await.expect(0).stdout;
    assert!(told.contains("`serve.stateKeys` and a `store` in Redis"), "{told}");
}
