//! Session ids that are not good: all of them are refused with the same words.

use std::time::{SystemTime, UNIX_EPOCH};

use proxy_base::seal::{Purpose, Sealer};
use serde_json::json;

use super::{KEY, TOKENS, moved, parts, ping, proxy_with, replica, replicas, session_of, status};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;

const HOUR: u64 = 3_600_000;
const SID: &str = "00112233445566778899aabbccddeeff";

/// An id that a proxy with this key has made for ann so long ago, in milliseconds.
fn made(key: &str, home: &str, age: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_millis();
    let born = u64::try_from(now).expect("it is not that late") - age;
    let content = json!({"version": 1, "sid": SID, "born": born, "revision": "2025-11-25", "client": {}});
    let sealer = Sealer::with_keys([key]).expect("there are random numbers");
    let sealed = sealer.seal(Purpose::Session, &format!("{home} person:ann"), content.to_string().as_bytes());
    format!("{home}.{}", sealed.expect("there are random numbers"))
}

#[tokio::test]
async fn every_id_that_is_not_good_is_refused_with_the_same_words() {
    let proxy = replica(TOKENS).await;
    let ann = session_of(&proxy, "secret-token-of-a").await;
    let bob = session_of(&proxy, "secret-token-of-b").await;
    let ended = session_of(&proxy, "secret-token-of-a").await;
    assert_eq!(ended.delete().await, 204);
    let (home, sealed) = parts(&ann);
    let digit = if home.starts_with('0') { '1' } else { '0' };
    let ids = [
        ("another key", made("another-key-of-more-than-thirty-two-bytes", home, 0)),
        ("another home", format!("{digit}{}.{sealed}", &home[1..])),
        ("cut", format!("{home}.{}", &sealed[..sealed.len() - 4])),
        ("longer", format!("{home}.{sealed}AAAA")),
        ("8 KB", format!("{home}.{}", "A".repeat(8192))),
        ("another person", bob.session().expect("it has one").to_owned()),
        ("too old", made(KEY, home, 168 * HOUR)),
        ("ended", ended.session().expect("it had one").to_owned()),
        ("made up", "0123456789abcdef".to_owned()),
        ("nothing", String::new()),
    ];
    let mut words = Vec::new();
    for (what, id) in ids {
        let client = ann.moved_to(&proxy.url, &proxy.program.stderr).with_session(&id);
        let refused = client.send(&ping(&client)).await;
        assert_eq!(refused.status, 404, "{what}");
        words.push(refused.text().await);
        assert_eq!(client.delete().await, 404, "{what}");
        assert_eq!(client.get_stream().await.status, 404, "{what}");
    }
    words.dedup();
    assert_eq!(words.len(), 1, "{words:?}");
    // One that is nearly too old is good, so the others were refused for the right reason.
    let old = ann.moved_to(&proxy.url, &proxy.program.stderr).with_session(&made(KEY, home, 167 * HOUR));
    assert_eq!((status(&old).await, status(&ann).await), (200, 200));
    assert!(!proxy.program.stderr.text().contains(SID), "the log has digests only");
}

#[tokio::test]
async fn a_lifetime_ends_sessions_and_zero_lets_none_come_back() {
    let short = proxy_with(&format!("stateKeys: [{KEY}], sessionLifetime: 1h"), TOKENS).await;
    let off = proxy_with(&format!("stateKeys: [{KEY}], sessionLifetime: 0s"), TOKENS).await;
    let ann = session_of(&short, "secret-token-of-a").await;
    let home = parts(&ann).0;
    let with = |id: &str| ann.moved_to(&short.url, &short.program.stderr).with_session(id);
    assert_eq!(status(&with(&made(KEY, home, HOUR))).await, 404);
    assert_eq!(status(&with(&made(KEY, home, HOUR / 2))).await, 200);
    let elsewhere = moved(&ann, &off);
    assert_eq!((status(&elsewhere).await, elsewhere.delete().await), (404, 404));
    let own = session_of(&off, "secret-token-of-a").await;
    assert_eq!((status(&own).await, own.delete().await, status(&own).await), (200, 204, 404));
}

/// A client in a session that says this many bytes about itself.
async fn introduced(client: HttpClient, bytes: usize) -> HttpClient {
    let around = r#"{"name":"","version":"1.0.0"}{}"#.len();
    let info = json!({"name": "x".repeat(bytes - around), "version": "1.0.0"}).to_string();
    let params = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{info}}}"#);
    let reply = client.send(&HttpRequest::post(message::request("1", "initialize", &params))).await;
    assert_eq!(reply.status, 200);
    let id = reply.header("mcp-session-id").expect("a session").to_owned();
    assert!(id.len() < 4096, "{}", id.len());
    reply.response().await.result();
    client.with_session(&id)
}

#[tokio::test]
async fn a_client_that_says_too_much_has_a_session_that_ends_with_its_process() {
    let [one, two] = replicas("").await;
    for (bytes, elsewhere) in [(2048, 200), (2049, 404), (16 << 10, 404)] {
        let client = introduced(one.client(), bytes).await;
        assert_eq!(status(&client).await, 200, "{bytes}");
        assert_eq!(status(&moved(&client, &two)).await, elsewhere, "{bytes}");
        assert_eq!((client.delete().await, status(&client).await), (204, 404), "{bytes}");
    }
}
