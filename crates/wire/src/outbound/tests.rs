//! Tests of the counts.

use std::time::Duration;

use super::{NoRoom, OutboundBudget, OutboundLimits};
use proxy_model::{Owner, Principal};

/// A busy machine may take a good part of a second for nothing.
const SOON: Duration = Duration::from_secs(1);

fn limits(connection: usize, person: usize, all: usize) -> OutboundBudget {
    let kib = |count: usize| count << 10;
    let (connection, person, all) = (kib(connection), kib(person), kib(all));
    OutboundBudget::new(OutboundLimits { connection, person, all, patience: SOON, stall: SOON })
}

fn person(name: &str) -> Owner {
    Owner::Person(Principal::named(name).who.clone())
}

#[test]
fn each_level_has_its_limit_and_a_message_that_is_gone_counts_no_more() {
    let budget = limits(100, 150, 250);
    let outlet = |name: &str| budget.connection().outlet(person(name));
    let (first, second) = (outlet("ann"), outlet("ann"));
    let held = [first.try_reserve(90 << 10), first.try_reserve(90 << 10)];
    assert!(held.iter().all(Option::is_some), "the message that reaches the limit is admitted whole");
    assert!(first.try_reserve(1).is_none(), "the connection is full");
    assert!(second.try_reserve(20 << 10).is_none(), "ann is full");
    assert!(second.try_reserve(1 << 10).is_some(), "short messages pass where a connection holds nothing else");
    let others = [outlet("bob").try_reserve(90 << 10), outlet("cleo").try_reserve(90 << 10)];
    assert!(others[0].is_some() && others[1].is_none(), "all together are full");
    drop(held);
    assert!(second.try_reserve(90 << 10).is_some());
    assert!(outlet("cleo").try_reserve(90 << 10).is_some());
}

#[tokio::test]
async fn a_message_waits_for_room_but_not_forever_and_not_with_too_many_others() {
    let budget = limits(64, 64, 64);
    let outlet = budget.connection().outlet(person("ann"));
    let first = outlet.reserve(64 << 10).await.unwrap();
    let waiting = tokio::spawn({
        let outlet = outlet.clone();
        async move { outlet.reserve(64 << 10).await.map(drop) }
    });
    tokio::task::yield_now().await;
    assert_eq!(outlet.reserve(1 << 10).await.map(drop), Err(NoRoom), "as much waits as may wait");
    drop(first);
    assert_eq!(waiting.await.unwrap(), Ok(()));
    let _first = outlet.reserve(64 << 10).await.unwrap();
    let began = std::time::Instant::now();
    assert_eq!(outlet.reserve(1).await.map(drop), Err(NoRoom));
    assert!(began.elapsed() >= SOON);
}

#[tokio::test]
async fn a_connection_is_stalled_if_bytes_wait_and_none_is_taken() {
    let connection = limits(64, 64, 64).connection();
    let outlet = connection.outlet(person("ann"));
    assert!(tokio::time::timeout(2 * SOON, connection.stalled()).await.is_err(), "nothing waits");
    let _held = outlet.try_reserve(50).unwrap();
    let reading = async {
        loop {
            tokio::time::sleep(SOON / 8).await;
            connection.taken();
        }
    };
    tokio::select! {
        _ = connection.stalled() => panic!("the client reads"),
        () = reading => {}
        () = tokio::time::sleep(4 * SOON) => {}
    }
    let began = std::time::Instant::now();
    assert_eq!(connection.stalled().await, 50);
    assert!(began.elapsed() >= SOON);
}
