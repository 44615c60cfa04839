//! One set of tests for both homes.

use std::time::Duration;

use proxy_model::{Owner, Principal, Sid};
use proxy_store::{Limit, MAX_JOURNAL, MAX_MARKS, MAX_VALUE, Space, Store, StoreError, Tags};

use crate::support::patience::within;
use crate::support::redis::Redis;
use crate::support::stderr_log::StderrLog;

const MINUTE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

macro_rules! in_every_home {
    ($($name:ident)*) => {
        mod in_memory {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&super::Store::memory()).await;
            })*
        }
        mod in_redis {
            $(#[tokio::test]
            async fn $name() {
                let Some(redis) = super::Redis::start().await else { return };
                super::$name(&super::Store::redis(&redis.url()).expect("the address is right")).await;
            })*
        }
    };
}

in_every_home! {
    a_bucket_gives_what_it_holds_and_says_when_there_is_more
    no_token_is_spent_unless_every_bucket_has_one
    a_bucket_fills_again
    many_at_once_get_no_more_tokens_than_there_are
    a_journal_is_taken_once
    a_journal_of_everything_survives_as_it_is
    a_journal_ends
    a_name_is_claimed_once_for_its_time
    a_record_is_there_until_it_is_deleted
    a_lock_has_one_holder_who_alone_gives_it_back
    a_value_is_there_until_it_is_replaced_or_deleted
    owners_and_namespaces_are_apart
    a_value_ends_and_its_room_is_free
    numbers_are_added_to_atomically
    what_is_no_whole_number_stays_as_it_was
    bounds_are_told
    an_owner_has_16_mib
    who_is_forgotten_has_nothing
    a_mark_keeps_its_first_text_and_ends
    an_owner_has_a_bounded_number_of_marks
    tags_come_and_go_with_the_value
    a_number_collects_tags
}

fn limit(key: &str, tokens: u32, window: Duration) -> Limit {
    Limit::new(key, tokens, window).expect("it can be")
}

async fn take(store: &Store, limits: &[Limit]) -> (bool, u64) {
    let verdict = store.take_tokens(limits).await.expect("the store answers");
    (verdict.allowed, verdict.retry_after())
}

fn ann() -> Space {
    Space::new(Owner::Person(Principal::named("ann").who.clone()), "policy")
}

/// Waits until the store says what it should: its clock is its own.
async fn until<T>(what: &str, mut asked: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = asked().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    within(what, &StderrLog::none(), found).await
}

async fn a_bucket_gives_what_it_holds_and_says_when_there_is_more(store: &Store) {
    let three = [limit("ann", 3, MINUTE)];
    for _ in 0..3 {
        assert_eq!(take(store, &three).await, (true, 0));
    }
    assert_eq!(take(store, &three).await, (false, 20));
    assert_eq!(take(store, &[limit("bob", 3, MINUTE)]).await, (true, 0));
}

async fn no_token_is_spent_unless_every_bucket_has_one(store: &Store) {
    let (large, small) = (limit("all", 3, MINUTE), limit("ann", 1, 2 * MINUTE));
    assert_eq!(take(store, &[large.clone(), small.clone()]).await, (true, 0));
    for _ in 0..5 {
        assert_eq!(take(store, &[large.clone(), small.clone()]).await, (false, 120));
    }
    let large = [large];
    assert_eq!([take(store, &large).await, take(store, &large).await], [(true, 0); 2]);
    assert_eq!(take(store, &large).await, (false, 20));
}

async fn a_bucket_fills_again(store: &Store) {
    let one = [limit("quick", 1, SHORT)];
    assert!(take(store, &one).await.0);
    until("a token", async || take(store, &one).await.0.then_some(())).await;
}

async fn many_at_once_get_no_more_tokens_than_there_are(store: &Store) {
    let ten = [limit("busy", 10, 100 * MINUTE)];
    let takes = (0..50).map(|_| take(store, &ten));
    let allowed = futures::future::join_all(takes).await.into_iter().filter(|(allowed, _)| *allowed).count();
    assert_eq!(allowed, 10);
}

async fn a_journal_is_taken_once(store: &Store) {
    store.put_journal("one", b"{}".to_vec(), MINUTE).await.expect("the store answers");
    let takes = (0..20).map(|_| store.take_journal("one"));
    let found: Vec<_> = futures::future::join_all(takes).await.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(found, [b"{}".to_vec()]);
    assert_eq!(store.take_journal("never there").await, Ok(None));
}

async fn a_journal_of_everything_survives_as_it_is(store: &Store) {
    let mut content: Vec<u8> = (0..=255).collect();
    content.resize(MAX_JOURNAL, 0);
    store.put_journal("large", content.clone(), MINUTE).await.expect("the store answers");
    assert!(store.take_journal("large").await.expect("the store answers") == Some(content.clone()));
    content.push(0);
    let error = store.put_journal("larger", content, MINUTE).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "the journal of this call is too large: 8388609 bytes (maximum 8388608)");
}

async fn a_name_is_claimed_once_for_its_time(store: &Store) {
    let claim = async |name: &str, ttl| store.claim(name, ttl).await.expect("the store answers");
    assert!(claim("a", MINUTE).await);
    assert!(!claim("a", MINUTE).await);
    assert!(claim("b", SHORT).await, "another name is another claim");
    within("the claim to end", &StderrLog::none(), async {
        while !claim("b", SHORT).await {
            tokio::time::sleep(SHORT).await;
        }
    })
    .await;
    let many = futures::future::join_all((0..50).map(|_| store.claim("c", MINUTE))).await;
    assert_eq!(many.into_iter().filter(|claimed| *claimed == Ok(true)).count(), 1);
}

async fn a_journal_ends(store: &Store) {
    store.put_journal("short", b"1".to_vec(), SHORT).await.expect("the store answers");
    until("the end of the journal", async || {
        let left = store.take_journal("short").await.expect("the store answers");
        if let Some(content) = &left {
            store.put_journal("short", content.clone(), Duration::from_millis(1)).await.expect("the store answers");
        }
        left.is_none().then_some(())
    })
    .await;
}

async fn a_record_is_there_until_it_is_deleted(store: &Store) {
    let get = async || store.get_record("a").await.expect("the store answers");
    assert_eq!(get().await, None);
    for content in [b"one\0\xff".as_slice(), b"two"] {
        store.put_record("a", content.to_vec()).await.expect("it is kept");
        assert_eq!(get().await.as_deref(), Some(content));
    }
    store.delete_record("a").await.expect("it is deleted");
    assert_eq!(get().await, None);
}

async fn a_lock_has_one_holder_who_alone_gives_it_back(store: &Store) {
    let lock = async |holder, ttl| store.lock("a", holder, ttl).await.expect("the store answers");
    assert!(lock("ann", MINUTE).await);
    assert!(!lock("bob", MINUTE).await);
    store.unlock("a", "bob").await.expect("the store answers");
    assert!(!lock("bob", MINUTE).await, "it is not his to give back");
    store.unlock("a", "ann").await.expect("the store answers");
    assert!(lock("bob", SHORT).await);
    until("the lock ends by itself", async || lock("ann", MINUTE).await.then_some(())).await;
}

async fn a_value_is_there_until_it_is_replaced_or_deleted(store: &Store) {
    assert_eq!(store.get(&ann(), "k").await, Ok(None));
    store.set(&ann(), "k", b"\"\"".to_vec(), None).await.expect("the store answers");
    assert_eq!(store.get(&ann(), "k").await, Ok(Some(b"\"\"".to_vec())));
    store.set(&ann(), "k", Vec::new(), Some(MINUTE)).await.expect("the store answers");
    assert_eq!(store.get(&ann(), "k").await, Ok(Some(Vec::new())), "nothing is a value too");
    assert_eq!(store.delete(&ann(), "k").await, Ok(true));
    assert_eq!(store.delete(&ann(), "k").await, Ok(false));
    assert_eq!(store.get(&ann(), "k").await, Ok(None));
}

async fn owners_and_namespaces_are_apart(store: &Store) {
    let spaces = [
        ann(),
        Space::new(Owner::Person(Principal::named("bob").who.clone()), "policy"),
        Space::new(Owner::Person(Principal::named("ann").who.clone()), "other"),
        Space::new(Owner::Person(Principal::named("ann").who.clone()), "policy:k"),
        Space::new(Owner::Session(Sid::numbered(1)), "policy"),
        Space::new(Owner::Session(Sid::numbered(2)), "policy"),
        Space::new(Owner::Request(1), "policy"),
        Space::new(Owner::Everybody, "policy"),
        Space::new(Owner::Person(Principal::named("shared").who.clone()), "policy"),
    ];
    for (number, space) in spaces.iter().enumerate() {
        store.set(space, "k", number.to_string().into_bytes(), None).await.expect("the store answers");
    }
    for (number, space) in spaces.iter().enumerate() {
        assert_eq!(store.get(space, "k").await, Ok(Some(number.to_string().into_bytes())), "{space:?}");
        assert_eq!(store.get(space, "k:k").await, Ok(None), "{space:?}");
    }
}

async fn a_value_ends_and_its_room_is_free(store: &Store) {
    let value = vec![b'x'; MAX_VALUE];
    for key in 0..15 {
        store.set(&ann(), &key.to_string(), value.clone(), Some(SHORT)).await.expect("the store answers");
    }
    let gone = async || store.get(&ann(), "14").await.expect("the store answers").is_none().then_some(());
    until("the end of the values", gone).await;
    for key in 20..35 {
        store.set(&ann(), &key.to_string(), value.clone(), None).await.expect("the store answers");
    }
}

async fn numbers_are_added_to_atomically(store: &Store) {
    let (space, adds) = (ann(), 0..50);
    let adds = adds.map(|_| store.incr(&space, "n", 3, None));
    let mut sums: Vec<i64> = futures::future::join_all(adds).await.into_iter().map(Result::unwrap).collect();
    sums.sort_unstable();
    assert_eq!(sums, (1..=50).map(|count| 3 * count).collect::<Vec<_>>());
    assert_eq!(store.get(&ann(), "n").await, Ok(Some(b"150".to_vec())));
    assert_eq!(store.incr(&ann(), "n", -151, None).await, Ok(-1));
    store.set(&ann(), "big", b"9007199254740993".to_vec(), None).await.expect("the store answers");
    assert_eq!(store.incr(&ann(), "big", 1, None).await, Ok(9_007_199_254_740_994), "more than 53 bits");
    assert_eq!(store.incr(&ann(), "short", 1, Some(SHORT)).await, Ok(1));
    until("the end of the number", async || {
        store.get(&ann(), "short").await.expect("the store answers").is_none().then_some(())
    })
    .await;
}

async fn what_is_no_whole_number_stays_as_it_was(store: &Store) {
    for text in ["\"a\"", "1.5", "[]", "null", "12345678901234567890"] {
        store.set(&ann(), "k", text.as_bytes().to_vec(), None).await.expect("the store answers");
        let error = store.incr(&ann(), "k", 1, None).await.expect_err("it is refused");
        assert_eq!(error, StoreError::NotAWholeNumber { key: "k".to_owned() }, "{text}");
        assert_eq!(store.get(&ann(), "k").await, Ok(Some(text.as_bytes().to_vec())));
    }
    store.set(&ann(), "k", i64::MAX.to_string().into_bytes(), None).await.expect("the store answers");
    assert_eq!(store.incr(&ann(), "k", 1, None).await, Err(StoreError::OutOfRange { key: "k".to_owned() }));
}

async fn bounds_are_told(store: &Store) {
    store.set(&ann(), &"ü".repeat(256), vec![b'x'; MAX_VALUE], None).await.expect("the store answers");
    let error = store.set(&ann(), &"ü".repeat(257), Vec::new(), None).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "the key is too long: 257 characters (maximum 256)");
    let error = store.set(&ann(), "k", vec![b'x'; MAX_VALUE + 1], None).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "the value of `k` is too large: 1048577 bytes (maximum 1048576)");
    assert_eq!(store.get(&ann(), "").await, Err(StoreError::EmptyKey));
}

async fn an_owner_has_16_mib(store: &Store) {
    let value = vec![b'x'; MAX_VALUE];
    for key in 0..15 {
        store.set(&ann(), &key.to_string(), value.clone(), None).await.expect("the store answers");
    }
    let error = store.set(&ann(), "one more", value.clone(), None).await.expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "no space left for `one more`: the values of one owner are limited to 16 MiB in total"
    );
    let elsewhere = Space::new(Owner::Person(Principal::named("ann").who.clone()), "other");
    assert!(store.set(&elsewhere, "k", value.clone(), None).await.is_err(), "whatever the script");
    store.set(&ann(), "3", value.clone(), None).await.expect("the store answers");
    store
        .set(&Space::new(Owner::Person(Principal::named("bob").who.clone()), "policy"), "k", value.clone(), None)
        .await
        .expect("the store answers");
    store.delete(&ann(), "3").await.expect("the store answers");
    store.set(&elsewhere, "k", value, None).await.expect("the store answers");
}

async fn who_is_forgotten_has_nothing(store: &Store) {
    let (gone, kept) = (Owner::Session(Sid::numbered(1)), Owner::Session(Sid::numbered(11)));
    for owner in [&gone, &kept] {
        store.set(&Space::new(owner.clone(), "a"), "k", b"1".to_vec(), None).await.expect("the store answers");
        store.set(&Space::new(owner.clone(), "b"), "k", b"1".to_vec(), Some(MINUTE)).await.expect("the store answers");
    }
    store.forget(&gone).await.expect("the store answers");
    assert_eq!(store.get(&Space::new(gone.clone(), "a"), "k").await, Ok(None));
    assert_eq!(store.get(&Space::new(gone, "b"), "k").await, Ok(None));
    assert_eq!(store.get(&Space::new(kept.clone(), "a"), "k").await, Ok(Some(b"1".to_vec())));
    assert_eq!(store.get(&Space::new(kept, "b"), "k").await, Ok(Some(b"1".to_vec())));
}

fn marks(names: &[&str], text: &str) -> Vec<(std::sync::Arc<str>, String)> {
    names.iter().map(|name| ((*name).into(), text.to_owned())).collect()
}

async fn marks_of(store: &Store, owner: &Owner) -> Vec<(String, String)> {
    let mut marks = store.marks(owner).await.expect("the store answers");
    marks.sort();
    marks
}

async fn a_mark_keeps_its_first_text_and_ends(store: &Store) {
    let owner = ann().owner;
    store.add_marks(&owner, &marks(&["secret"], "first"), MINUTE).await.expect("there is room");
    store.add_marks(&owner, &marks(&["secret", "a b"], "then {5}"), MINUTE).await.expect("there is room");
    let expected = [("a b".to_owned(), "then {5}".to_owned()), ("secret".to_owned(), "first".to_owned())];
    assert_eq!(marks_of(store, &owner).await, expected);
    assert_eq!(marks_of(store, &Owner::Person(Principal::named("bob").who.clone())).await, []);
    // A short mark ends, and begins anew; a long one is not made shorter.
    store.add_marks(&owner, &marks(&["secret", "short"], "late"), SHORT).await.expect("there is room");
    until("the end of a mark", async || (marks_of(store, &owner).await.len() == 2).then_some(())).await;
    assert_eq!(marks_of(store, &owner).await, expected);
    store.add_marks(&owner, &marks(&["short"], "again"), MINUTE).await.expect("there is room");
    assert_eq!(marks_of(store, &owner).await[2].1, "again");
    store.forget(&owner).await.expect("the store answers");
    assert_eq!(marks_of(store, &owner).await, []);
}

async fn an_owner_has_a_bounded_number_of_marks(store: &Store) {
    let (owner, session) = (ann().owner, Owner::Session(Sid::numbered(5)));
    let names: Vec<String> = (0..MAX_MARKS).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    store.add_marks(&owner, &marks(&names, "x"), MINUTE).await.expect("there is room");
    let more = store.add_marks(&owner, &marks(&["more"], "x"), MINUTE).await;
    assert_eq!(more, Err(StoreError::TooManyMarks));
    store.add_marks(&owner, &marks(&["m0"], "x"), MINUTE).await.expect("it is known");
    store.add_marks(&session, &marks(&["more"], "x"), MINUTE).await.expect("another owner has room");
}

fn tags(names: &[&str]) -> Tags {
    Tags(names.iter().map(|name| (*name).into()).collect())
}

async fn tags_come_and_go_with_the_value(store: &Store) {
    let space = ann();
    store.set_tagged(&space, "k", b"[1]".to_vec(), None, &tags(&["b", "a"])).await.expect("there is room");
    assert_eq!(store.get_tagged(&space, "k").await, Ok(Some((b"[1]".to_vec(), tags(&["a", "b"])))));
    assert_eq!(store.get(&space, "k").await, Ok(Some(b"[1]".to_vec())));
    store.set(&space, "k", b"[2]".to_vec(), None).await.expect("there is room");
    assert_eq!(store.get_tagged(&space, "k").await, Ok(Some((b"[2]".to_vec(), Tags::default()))));
}

async fn a_number_collects_tags(store: &Store) {
    let space = ann();
    let add = async |by: i64, names: &[&str]| store.incr_tagged(&space, "n", by, None, &tags(names)).await;
    assert_eq!(add(1, &[]).await, Ok((1, Tags::default())));
    assert_eq!(add(2, &["secret"]).await, Ok((3, Tags::default())));
    assert_eq!(add(-5, &["b", "secret"]).await, Ok((-2, tags(&["secret"]))));
    assert_eq!(add(i64::MAX, &[]).await, Ok((i64::MAX - 2, tags(&["b", "secret"]))));
    assert!(matches!(add(5, &[]).await, Err(StoreError::OutOfRange { .. })));
    let expected = (i64::MAX - 2).to_string().into_bytes();
    assert_eq!(store.get_tagged(&space, "n").await, Ok(Some((expected, tags(&["b", "secret"])))), "it stays as it was");
    store.set_tagged(&space, "n", b"\"x\"".to_vec(), None, &tags(&["a"])).await.expect("there is room");
    assert!(matches!(add(1, &[]).await, Err(StoreError::NotAWholeNumber { .. })));
    assert_eq!(store.get_tagged(&space, "n").await, Ok(Some((b"\"x\"".to_vec(), tags(&["a"])))));
}
