//! Expiry in the store in memory. What all stores have in common is tested in `tests/store/`, with a real Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use proxy_model::Sid;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A store whose time is set by hand.
struct Timed {
    store: Store,
    now: Arc<AtomicU64>,
}

impl Timed {
    fn new() -> Self {
        let now = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now);
        Timed { store: Store::with_clock(Arc::new(move || clock.load(Ordering::Relaxed))), now }
    }

    fn pass(&self, time: Duration) {
        self.now.fetch_add(u64::try_from(time.as_micros()).unwrap(), Ordering::Relaxed);
    }

    fn take(&self, limits: &[(&str, u32, u64)]) -> (bool, u64) {
        let limits: Vec<Limit> = limits.iter().map(|(key, tokens, window)| limit(key, *tokens, *window)).collect();
        let decision = block_on(self.store.take_tokens(&limits)).unwrap();
        (decision.allowed, decision.retry_after())
    }
}

fn limit(key: &str, tokens: u32, window: u64) -> Limit {
    Limit::new(key, tokens, Duration::from_secs(window)).unwrap()
}

#[test]
fn tokens_come_back_one_by_one() {
    let timed = Timed::new();
    let two_a_minute = [("ann", 2, 60)];
    assert_eq!([0; 3].map(|_| timed.take(&two_a_minute)), [(true, 0), (true, 0), (false, 30)]);
    timed.pass(Duration::from_millis(29_500));
    assert_eq!(timed.take(&two_a_minute), (false, 1));
    timed.pass(Duration::from_millis(500));
    assert_eq!([0; 2].map(|_| timed.take(&two_a_minute)), [(true, 0), (false, 30)]);
    assert_eq!(timed.take(&[("bob", 2, 60)]), (true, 0), "another key is another bucket");
    assert_eq!(timed.take(&[("ann", 3, 60)]), (true, 0), "so is another limit");
}

#[test]
fn where_one_bucket_is_empty_no_other_loses_a_token() {
    let timed = Timed::new();
    let (large, small) = (("all", 3, 60), ("ann", 1, 60));
    assert_eq!(timed.take(&[large, small]), (true, 0));
    for _ in 0..10 {
        assert_eq!(timed.take(&[large, small]), (false, 60), "the longest wait counts");
    }
    assert_eq!([0; 3].map(|_| timed.take(&[large])), [(true, 0), (true, 0), (false, 20)]);
    assert_eq!(timed.take(&[]), (true, 0));
    assert_eq!([0; 2].map(|_| timed.take(&[("twice", 2, 60), ("twice", 2, 60)]).0), [true, true]);
}

#[test]
fn full_buckets_make_room_for_others() {
    let timed = Timed::new();
    // More than there is room for at once; but a second brings a token, so after it all of them are full.
    for round in 0..100 {
        for number in 0..1000 {
            assert!(timed.take(&[(&format!("{round} {number} {}", "x".repeat(900)), 10, 10)]).0);
        }
        timed.pass(SECOND);
    }
}

#[test]
fn more_buckets_than_there_is_room_for_are_an_error() {
    let timed = Timed::new();
    let long = "x".repeat(1000);
    let mut made = 0;
    let error = loop {
        match block_on(timed.store.take_tokens(&[limit(&format!("{made}{long}"), 1, 3600)])) {
            Ok(decision) => assert!(decision.allowed),
            Err(error) => break error,
        }
        made += 1;
    };
    assert!(made > 10_000, "{made}");
    assert_eq!(error.to_string(), "the store is full: rate limits are limited to 64 MiB in memory");
    timed.pass(Duration::from_secs(3600));
    assert_eq!(timed.take(&[("new", 1, 60)]), (true, 0));
}

#[test]
fn a_journal_is_there_until_its_end() {
    let timed = Timed::new();
    block_on(timed.store.put_journal("a", b"1".to_vec(), SECOND)).unwrap();
    block_on(timed.store.put_journal("b", b"2".to_vec(), 2 * SECOND)).unwrap();
    timed.pass(SECOND);
    assert_eq!(block_on(timed.store.take_journal("a")), Ok(None));
    assert_eq!(block_on(timed.store.take_journal("b")), Ok(Some(b"2".to_vec())));
    assert_eq!(block_on(timed.store.take_journal("b")), Ok(None));
}

#[test]
fn journals_have_room_for_64_mib_together() {
    let timed = Timed::new();
    let large = vec![0; MAX_JOURNAL - 100];
    for number in 0..8 {
        block_on(timed.store.put_journal(&number.to_string(), large.clone(), SECOND)).unwrap();
    }
    let error = block_on(timed.store.put_journal("one more", large.clone(), SECOND)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store is full: journals of calls that wait for an answer are limited to 64 MiB in memory"
    );
    block_on(timed.store.take_journal("3")).unwrap();
    block_on(timed.store.put_journal("one more", large.clone(), SECOND)).unwrap();
    timed.pass(SECOND);
    block_on(timed.store.put_journal("another", large, SECOND)).unwrap();
}

#[test]
fn a_counter_keeps_the_end_it_began_with() {
    let timed = Timed::new();
    let space = Space::new(Owner::Everybody, "policy");
    let incr = || block_on(timed.store.incr(&space, "n", 2, Some(10 * SECOND))).unwrap();
    assert_eq!(incr(), 2);
    timed.pass(9 * SECOND);
    assert_eq!(incr(), 4);
    timed.pass(SECOND);
    assert_eq!(incr(), 2);
}

#[test]
fn all_owners_together_have_a_limit_too() {
    let timed = Timed::new();
    let value = vec![b'1'; MAX_VALUE];
    let mut owners = 0;
    let error = 'full: loop {
        let space = Space::new(Owner::Session(Sid::numbered(owners)), "policy");
        for key in 0..15 {
            if let Err(error) = block_on(timed.store.set(&space, &key.to_string(), value.clone(), Some(SECOND))) {
                break 'full error;
            }
        }
        owners += 1;
    };
    assert_eq!(owners, 17);
    assert_eq!(error.to_string(), "the store is full: script values are limited to 256 MiB in memory");
    block_on(timed.store.forget(&Owner::Session(Sid::numbered(3)))).unwrap();
    let space = Space::new(Owner::Session(Sid::numbered(99)), "policy");
    block_on(timed.store.set(&space, "k", value, None)).unwrap();
}
