//! Several proxies with one Redis: a result is read page by page at any of them.

use super::{LIMIT, TOKENS, export, is_error, joined, note, page_of, paged, results, session, session_of, tools};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::patience::{LONG_PATIENCE, within};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

const KEY: &str = "stateKeys: [the-same-key-of-more-than-thirty-two-bytes]";
/// As many items as make 3 MB.
const ITEMS: usize = 42_000;

async fn replica(redis: &Redis, serve: &str, sections: &str, items: usize) -> HttpProxy {
    let server = fake_backend(["--era", "legacy", "--tools", "tools.json", "--results", "results.json"]);
    let config = Config::new()
        .server("fake", &server)
        .section(&format!("store: {{url: '{}'}}", redis.url()))
        .section(&format!("serve: {{{serve}}}"))
        .section(sections);
    let proxy = Proxy::new(&config).file("tools.json", &tools()).file("results.json", &results(items));
    let mut proxy = proxy.http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    proxy
}

fn moved(client: &HttpClient, proxy: &HttpProxy) -> HttpClient {
    client.moved_to(&proxy.url, &proxy.program.stderr)
}

async fn call(client: &mut HttpClient, modern: bool, tool: &str, arguments: &str) -> Message {
    if modern { client.modern_call(tool, arguments).await } else { client.call(tool, arguments).await }
}

#[tokio::test]
async fn three_megabytes_are_read_to_their_end_through_two_proxies_in_both_eras() {
    let Some(redis) = Redis::start().await else { return };
    let sections = "results: {maxTokens: 25000}";
    let one = replica(&redis, KEY, sections, ITEMS).await;
    let two = replica(&redis, KEY, sections, ITEMS).await;
    let whole = export(ITEMS);
    assert!(whole.len() > 3_000_000, "{}", whole.len());
    for modern in [false, true] {
        let mut here = session(&one).await;
        let mut there = moved(&here, &two);
        let first = call(&mut here, modern, "export", "{}").await;
        let (id, count) = paged(&first);
        assert!(count > 20, "{count}");
        let mut pages = vec![first.text()];
        for page in 2..=count {
            let client = if page % 2 == 0 { &mut there } else { &mut here };
            pages.push(call(client, modern, "read_result", &page_of(&id, page)).await.text());
        }
        assert_eq!(joined(&pages), whole, "modern: {modern}");
    }
    let keys = redis.ask(&["KEYS", "*"]).await;
    assert!(keys.contains(":results"), "{keys}");
}

#[tokio::test]
async fn the_store_holds_nothing_that_can_be_read_and_a_foreign_person_finds_nothing() {
    let Some(redis) = Redis::start().await else { return };
    let sections = format!("{LIMIT}\n{TOKENS}");
    let one = replica(&redis, KEY, &sections, 1000).await;
    let two = replica(&redis, KEY, &sections, 1000).await;
    let mut ann = session_of(&one, "secret-token-of-a").await;
    let (id, _) = paged(&ann.call("export", "{}").await);
    let keys = redis.ask(&["KEYS", "*:results"]).await;
    let key = keys.split(['"', '\'']).find(|part| part.ends_with(":results")).expect("a key").to_owned();
    assert!(!key.contains("ann"), "{key}");
    let stored = redis.ask(&["HGETALL", &key]).await;
    assert!(stored.contains(&id), "{} bytes", stored.len());
    assert!(!stored.contains("price") && !stored.contains("export"));
    let left: String = redis.ask(&["PTTL", &key]).await.chars().filter(char::is_ascii_digit).collect();
    let left: u64 = left.parse().expect("a number");
    assert!(left > 1_000_000 && left <= 1_800_001, "{left}");
    assert!(!is_error(&moved(&ann, &two).call("read_result", &page_of(&id, 2)).await));
    let mut bob = session_of(&two, "secret-token-of-b").await;
    let foreign = bob.call("read_result", &page_of(&id, 2)).await;
    assert!(is_error(&foreign) && foreign.text().contains("is not kept"), "{}", foreign.raw);
    // With another key, nothing opens.
    let other = "stateKeys: [another-key-of-more-than-thirty-two-bytes]";
    let third = replica(&redis, other, &sections, 1000).await;
    let mut ann = session_of(&third, "secret-token-of-a").await;
    assert!(is_error(&ann.call("read_result", &page_of(&id, 2)).await));
}

#[tokio::test]
async fn without_the_store_there_is_a_first_page_and_reads_say_what_is_wrong() {
    let Some(mut redis) = Redis::start().await else { return };
    let sections = format!("{LIMIT}\n{TOKENS}");
    let one = replica(&redis, KEY, &sections, 1000).await;
    let two = replica(&redis, KEY, &sections, 1000).await;
    let mut ann = session_of(&one, "secret-token-of-a").await;
    let mut elsewhere = session_of(&two, "secret-token-of-a").await;
    let (id, _) = paged(&ann.call("export", "{}").await);
    redis.kill();
    let read = elsewhere.call("read_result", &page_of(&id, 2)).await;
    assert_eq!((is_error(&read), read.text()), (true, format!("`{id}` cannot be read now: try again later")));
    // Where it was made, it is still in memory.
    assert!(!is_error(&ann.call("read_result", &page_of(&id, 2)).await));
    let answer = ann.call("export", "{}").await;
    assert!(!is_error(&answer) && answer.text().starts_with("{\"total\":1.10,"));
    assert!(note(&answer).ends_with("; the rest could not be kept]"), "{}", note(&answer));
    one.program.stderr.line("a large result cannot be kept").await;
    redis.again().await;
    let back = async {
        loop {
            let answer = ann.call("export", "{}").await;
            if !note(&answer).contains("could not be kept") {
                break;
            }
        }
    };
    within("the store", &one.program.stderr, back).await;
}

#[tokio::test]
async fn without_shared_keys_results_stay_in_the_memory_of_their_process() {
    let Some(redis) = Redis::start().await else { return };
    let one = replica(&redis, "", LIMIT, 1000).await;
    let mut client = session(&one).await;
    let (id, _) = paged(&client.call("export", "{}").await);
    assert!(!is_error(&client.call("read_result", &page_of(&id, 2)).await));
    assert!(!redis.ask(&["KEYS", "*"]).await.contains(":results"));
}

#[tokio::test]
async fn a_result_ends_in_the_store_when_its_time_is_over_and_a_newer_one_of_the_same_owner_does_not() {
    let Some(redis) = Redis::start().await else { return };
    let sections = "results: {maxTokens: 2000, keep: 2s}";
    let one = replica(&redis, KEY, sections, 1000).await;
    let two = replica(&redis, KEY, sections, 1000).await;
    let mut here = session(&one).await;
    let mut there = moved(&here, &two);
    let (old, _) = paged(&here.call("export", "{}").await);
    assert!(!is_error(&there.call("read_result", &page_of(&old, 2)).await));
    let over = async {
        loop {
            let (new, _) = paged(&here.call("export", "{}").await);
            let answer = there.call("read_result", &page_of(&old, 2)).await;
            if is_error(&answer) {
                return (new, answer.text());
            }
        }
    };
    let (new, told) = within("the end of a result", &two.program.stderr, over).await;
    assert!(told.contains("is not kept: results are kept 2 s"), "{told}");
    assert!(!is_error(&there.call("read_result", &page_of(&new, 2)).await));
}
