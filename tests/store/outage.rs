//! A Redis that is not there, goes away, comes back, or says no.

use std::time::Duration;

use proxy_model::{Owner, Principal, Sid};
use proxy_store::{Limit, Space, Store, StoreError};

use crate::support::patience::PATIENCE;
use crate::support::redis::Redis;

fn space() -> Space {
    Space::new(Owner::Everybody, "policy")
}

/// Every operation once, in an order that fits an empty store.
async fn everything(store: &Store) -> Vec<Result<(), StoreError>> {
    let minute = Duration::from_secs(60);
    let limit = [Limit::new("k", 1000, minute).expect("it can be")];
    vec![
        store.take_tokens(&limit).await.map(drop),
        store.put_journal("id", b"1".to_vec(), minute).await,
        store.take_journal("id").await.map(drop),
        store.set(&space(), "k", b"1".to_vec(), None).await,
        store.get(&space(), "k").await.map(drop),
        store.incr(&space(), "k", 1, None).await.map(drop),
        store.delete(&space(), "k").await.map(drop),
        store.forget(&Owner::Session(Sid::numbered(1))).await,
    ]
}

#[tokio::test]
async fn a_redis_that_dies_is_named_by_every_error_and_used_again_when_it_is_back() {
    let Some(mut redis) = Redis::start_with(Some("s3cret")).await else { return };
    let store = Store::redis(&redis.url()).unwrap();
    assert_eq!(everything(&store).await, vec![Ok(()); 8]);
    for _ in 0..3 {
        redis.kill();
        for outcome in everything(&store).await {
            let error = outcome.unwrap_err().to_string();
            assert!(error.starts_with(&format!("store `{}` is unavailable: ", redis.name())), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        redis.again().await;
        assert_eq!(everything(&store).await, vec![Ok(()); 8], "the first use after it is back works");
    }
}

#[tokio::test]
async fn a_connection_that_was_cut_while_idle_costs_nobody_an_error() {
    let Some(redis) = Redis::start().await else { return };
    let store = Store::redis(&redis.url()).unwrap();
    for count in 1..=5 {
        assert_eq!(store.incr(&space(), "n", 1, None).await, Ok(count));
        redis.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
    }
}

#[tokio::test]
async fn a_redis_that_hangs_is_told_in_a_few_seconds() {
    let Some(redis) = Redis::start().await else { return };
    let store = Store::redis(&redis.url()).unwrap();
    store.get(&space(), "k").await.unwrap();
    redis.freeze();
    for _ in 0..2 {
        let outcome = tokio::time::timeout(PATIENCE, store.get(&space(), "k")).await.expect("it does not hang too");
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_without_it() {
    let Some(redis) = Redis::start_with(Some("right")).await else { return };
    let store = Store::redis(&redis.url().replace("right", "wr0ng")).unwrap();
    let error = store.get(&space(), "k").await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("store `{}` ", redis.name())), "{error}");
    assert!(!error.contains("wr0ng") && error.contains("WRONGPASS"), "{error}");
}

#[test]
fn an_address_that_cannot_be_is_told_without_its_password() {
    for address in ["redis://:s3cret@", "redis://u:s3cret@host:port/0", "redis://:s3cret@h/none", "http://u:s3cret@h"] {
        let error = Store::redis(address).unwrap_err().to_string();
        assert!(error.contains("invalid store address"), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
    let store = Store::redis("redis://user:s3cret@h:1/2").unwrap();
    assert_eq!(format!("{} {store:?}", store.name()), "redis://h:1/2 Store(redis://h:1/2)");
}

#[tokio::test]
async fn nothing_stays_behind_in_redis() {
    let Some(redis) = Redis::start().await else { return };
    let store = Store::redis(&redis.url()).unwrap();
    let short = Some(Duration::from_millis(20));
    store.set(&space(), "k", b"1".to_vec(), short).await.unwrap();
    store.incr(&Space::new(Owner::Person(Principal::named("ann").who.clone()), "policy"), "n", 1, short).await.unwrap();
    store.take_tokens(&[Limit::new("k", 1, Duration::from_millis(20)).unwrap()]).await.unwrap();
    store.put_journal("id", b"1".to_vec(), Duration::from_millis(20)).await.unwrap();
    store.set(&space(), "deleted", b"1".to_vec(), None).await.unwrap();
    store.delete(&space(), "deleted").await.unwrap();
    let empty = async { while redis.ask(&["DBSIZE"]).await != "int(0)" {} };
    tokio::time::timeout(PATIENCE, empty).await.expect("all of it ends by itself");
}
