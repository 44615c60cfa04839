//! What a client got under one profile opens nothing under another one: session ids, cursors, tickets and kept results.

use serde_json::{Value, json};

use super::{client, config, refusal, session, world};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

const ALL: &str = "  one: { servers: ['*'] }\n  two: { servers: ['*'] }";

/// Both with equal views, so that only the profile is another.
async fn serving() -> HttpProxy {
    world(&config(ALL)).http().await
}

#[tokio::test]
async fn a_session_belongs_to_the_profile_where_it_was_opened() {
    let proxy = serving().await;
    let one = session(&proxy, "one").await;
    let id = one.session().expect("a session").to_owned();
    let ping = one.legacy(&message::request("7", "ping", "{}"));
    let listen = one.in_session(HttpRequest::get());
    let delete = one.in_session(HttpRequest::delete());
    let resume = listen.clone().header("Last-Event-ID", "0000000000000000-0-1");
    for path in ["two", ""] {
        for request in [&ping, &listen, &resume, &delete] {
            let (status, _) = refusal(client(&proxy, path).send(request).await).await;
            assert_eq!(status, 404, "{} at `{path}`", request.method);
        }
    }
    assert_eq!(client(&proxy, "one").send(&ping).await.status, 200, "nobody has ended it");
    // The same for one of the top level.
    let top = session(&proxy, "").await;
    let ping = top.legacy(&message::request("7", "ping", "{}"));
    assert_eq!(client(&proxy, "one").send(&ping).await.status, 404);
    assert_eq!(client(&proxy, "").send(&ping).await.status, 200);
    assert_eq!(client(&proxy, "one").with_session(&id).send(&delete).await.status, 204);
}

#[tokio::test]
async fn a_session_that_another_process_revives_belongs_to_its_profile() {
    let config = config(ALL).section("serve: { stateKeys: [0123456789abcdef0123456789abcdef] }");
    let first = world(&config).http().await;
    let second = world(&config).http().await;
    let one = session(&first, "one").await;
    let ping = one.legacy(&message::request("7", "ping", "{}"));
    assert_eq!(client(&second, "two").send(&ping).await.status, 404);
    assert_eq!(client(&second, "").send(&ping).await.status, 404);
    assert_eq!(client(&second, "one").send(&ping).await.status, 200);
}

#[tokio::test]
async fn a_cursor_of_one_profile_is_invalid_at_another() {
    let script =
        "for number in range(1200):\n    publish(metadata('tool_%d' % number, 'x' * 2000, {}, {}), lambda args: 'x')\n";
    let config = Config::new().section("sessionInit: { scriptFile: many.star }").section(&format!("profiles:\n{ALL}"));
    let proxy = Proxy::new(&config).file("many.star", script).http().await;
    let first = client(&proxy, "one").modern("tools/list", "{}").await.value();
    let cursor = json!({"cursor": first["result"]["nextCursor"].as_str().expect("several pages")}).to_string();
    for path in ["two", ""] {
        let refused = client(&proxy, path).modern("tools/list", &cursor).await;
        assert_eq!(refused.error_code(), -32602, "{path}: {}", refused.raw);
    }
    client(&proxy, "one").modern("tools/list", &cursor).await.result();
}

const ASKING: &str = r#"
def handler(args):
    return "done: " + elicit("Sure?", when_unavailable = "error").action
publish(metadata("handler", "", {"type": "object"}, {}), handler)
"#;

#[tokio::test]
async fn a_ticket_of_one_profile_is_invalid_at_another() {
    let config = Config::new().section("sessionInit: { scriptFile: ask.star }").section(&format!("profiles:\n{ALL}"));
    let proxy = Proxy::new(&config).file("ask.star", ASKING).http().await;
    let capabilities = r#"{"elicitation":{"form":{}}}"#;
    let call = async |client: &mut HttpClient, params: &Value| {
        client.modern_with("tools/call", &params.to_string(), capabilities).await.value()
    };
    let mut params = json!({"name": "handler", "arguments": {}});
    let asked = call(&mut client(&proxy, "one"), &params).await;
    let ticket = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("a question: {asked}"));
    params["requestState"] = ticket.into();
    let question = asked["result"]["inputRequests"].as_object().and_then(|all| all.keys().next()).expect("one").clone();
    params["inputResponses"] = json!({ question: {"action": "accept", "content": {}} });
    for path in ["two", ""] {
        let refused = call(&mut client(&proxy, path), &params).await;
        assert_eq!(refused["error"]["code"], -32602, "{path}: {refused}");
    }
    let done = call(&mut client(&proxy, "one"), &params).await;
    assert_eq!(done["result"]["content"][0]["text"], "done: accept", "{done}");
}

#[tokio::test]
async fn a_kept_result_is_read_under_its_profile_only() {
    let script =
        "def large(args):\n    return 'word ' * 40000\npublish(metadata('large', '', {'type': 'object'}, {}), large)\n";
    let config = Config::new()
        .server("papers", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: large.star }")
        .section("results: { maxTokens: 2000 }")
        .section(ANN)
        .section(&format!("profiles:\n{ALL}"));
    let proxy = Proxy::new(&config).file("large.star", script).http().await;
    let made = ann(&proxy, "one").modern_call("large", "{}").await;
    let id = made.raw.split("r_").nth(1).map(|rest| format!("r_{}", &rest[..16])).expect("an id");
    let page = json!({"result": id, "page": 2}).to_string();
    for path in ["two", ""] {
        let refused = ann(&proxy, path).modern_call("read_result", &page).await;
        assert!(refused.text().contains("is not kept"), "{path}: {}", refused.raw);
    }
    let read = ann(&proxy, "one").modern_call("read_result", &page).await;
    assert!(read.text().contains("word"), "{}", read.raw);
}

const ANN: &str = "auth: {tokens: [{token: s3cret-token-of-ann, sub: ann}]}";

/// One person without a session.
fn ann(proxy: &HttpProxy, path: &str) -> HttpClient {
    client(proxy, path).with_header("Authorization", "Bearer s3cret-token-of-ann")
}

fn linking() -> Config {
    Config::new()
        .server("papers", &fake_backend(["--resources", "--only", "raw"]))
        .section(ANN)
        .section(&format!("profiles:\n{ALL}"))
}

const LINK: &str = r#"{"result":{"content":[{"type":"resource_link","uri":"memo://hidden/1","name":"hidden"}]}}"#;

async fn read_link(mut client: HttpClient) -> Value {
    client.modern("resources/read", r#"{"uri":"memo://hidden/1"}"#).await.value()
}

#[tokio::test]
async fn a_link_that_was_sent_under_one_profile_leads_nowhere_under_another() {
    let proxy = Proxy::new(&linking()).http().await;
    ann(&proxy, "one").modern_call("raw", LINK).await.result();
    for path in ["two", ""] {
        let refused = read_link(ann(&proxy, path)).await;
        assert_eq!(refused["error"]["code"], -32602, "{path}: {refused}");
    }
    let read = read_link(ann(&proxy, "one")).await;
    assert_eq!(read["result"]["contents"][0]["text"], "the text of memo://hidden/1", "{read}");
}

#[tokio::test]
async fn a_link_from_another_process_is_good_under_its_profile_only() {
    let Some(redis) = Redis::start().await else { return };
    let config = linking()
        .section(&format!("store: {{ url: '{}' }}", redis.url()))
        .section("serve: { stateKeys: [0123456789abcdef0123456789abcdef] }");
    let first = Proxy::new(&config).http().await;
    let second = Proxy::new(&config).http().await;
    ann(&first, "one").modern_call("raw", LINK).await.result();
    // The result does not wait for the store.
    let known = async { while read_link(ann(&second, "one")).await["result"].is_null() {} };
    within("the link at the other process", &second.program.stderr, known).await;
    for path in ["two", ""] {
        let refused = read_link(ann(&second, path)).await;
        assert_eq!(refused["error"]["code"], -32602, "{path}: {refused}");
    }
}
