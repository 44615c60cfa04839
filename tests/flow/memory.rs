//! What a handler stores has the marks of the call that stored it, and gives them to whoever reads it.

use serde_json::json;

use super::{Conversation, rules, text, world};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

const SCRIPT: &str = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def keep(args):
    shared_state.set(args["key"], unwrap(tools["note"]({"text": "s3cret"})))
    return "kept"

def count(args):
    return shared_state.incr("number", args.get("by", 1))

def tell(args):
    return {"value": shared_state.get(args["key"], "nothing"), "marks": sorted(marks().keys())}

def clear(args):
    shared_state.set(args["key"], "harmless")
    return "cleared"

def vault(args):
    return tools["note"](args)

any = {"type": "object"}
publish(metadata("keep", "", any, {}), keep)
publish(metadata("count", "", any, {}), count)
publish(metadata("tell", "", any, {}), tell)
publish(metadata("clear", "", any, {}), clear)
publish(metadata("vault", "", any, {}), vault)
publish(metadata("send", "", any, {}), lambda args: tools["send_mail"](args))
publish(metadata("remembered", "", any, {}), cached(vault, 600))
"#;
const SECTIONS: &[&str] = &[
    "sessionInit: { scriptFile: policy.star }",
    "flow:\n  labels: [{name: note, server: fake, labels: [secret]}]\n  rules: [{when: [secret], then: egress, do: deny}]\n  remember: 1h",
];

async fn served(redis: Option<&Redis>) -> (HttpProxy, crate::support::temp_dir::TempDir) {
    let (_, folder) = world("legacy", &[], &[]);
    let file = folder.path().join("tools.json");
    let arguments = ["--era", "legacy", "--tools", file.to_str().expect("a path")];
    let config = Config::new().server("fake", &fake_backend(arguments));
    let config = SECTIONS.iter().fold(config, |config, section| config.section(section));
    let config = match redis {
        Some(redis) => config.section(&format!("store: {{url: '{}'}}", redis.url())),
        None => config,
    };
    (Proxy::new(&config).file("policy.star", SCRIPT).http().await, folder)
}

async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client
}

async fn carried(redis: Option<&Redis>) {
    let (proxy, _folder) = served(redis).await;
    let (mut writer, mut reader) = (session(&proxy).await, session(&proxy).await);
    // Given a conversation that has read a secret and kept it for all.
    assert_eq!(writer.call("keep", r#"{"key": "k"}"#).await.text(), "kept");
    // A reader of something else has no marks.
    let told = reader.call("tell", r#"{"key": "other"}"#).await.value();
    assert_eq!(told["result"]["structuredContent"]["marks"], json!([]), "{told}");
    assert!(reader.call("send", r#"{"text": "hello"}"#).await.value()["result"]["isError"] != true);
    // When another conversation reads it, it has the mark.
    let told = reader.call("tell", r#"{"key": "k"}"#).await.value();
    // What it has sent was answered by strangers.
    assert_eq!(told["result"]["structuredContent"]["marks"], json!(["egress", "secret", "untrusted"]), "{told}");
    let why = reader.call("send", r#"{"text": "s3cret"}"#).await.text();
    assert!(why.contains("this conversation has read `shared_state` (secret)"), "{why}");
    // What a clean conversation stores in its place is clean again.
    let mut third = session(&proxy).await;
    assert_eq!(third.call("clear", r#"{"key": "k"}"#).await.text(), "cleared");
    let told = third.call("tell", r#"{"key": "k"}"#).await.value();
    assert_eq!(told["result"]["structuredContent"], json!({"value": "harmless", "marks": []}), "{told}");
    // A number that was counted after reading the secret may say something of it.
    let mut fourth = session(&proxy).await;
    assert_eq!(fourth.call("count", "{}").await.text(), "1");
    assert_eq!(writer.call("count", r#"{"by": 41}"#).await.text(), "42");
    assert!(third.call("send", r#"{"text": "x"}"#).await.value()["result"]["isError"] != true);
    assert_eq!(third.call("count", "{}").await.text(), "43");
    let why = third.call("send", r#"{"text": "43"}"#).await.text();
    assert!(why.contains("`shared_state` (secret)"), "{why}");
}

#[tokio::test]
async fn a_secret_in_shared_state_marks_whoever_reads_it() {
    carried(None).await;
}

#[tokio::test]
async fn the_same_in_redis() {
    let Some(redis) = Redis::start().await else { return };
    carried(Some(&redis)).await;
}

#[tokio::test]
async fn a_cached_result_marks_again() {
    let script = format!("{SCRIPT}\npublish(metadata(\"forget\", \"\", any, {{}}), lambda args: \"x\")\n");
    let sections = [SECTIONS[0], &SECTIONS[1].replace("1h", "700ms")];
    let (proxy, folder) = world("legacy", &[], &sections);
    let mut conversation = Conversation::at((proxy.file("policy.star", &script), folder), false).await;
    conversation.passes("remembered", text("s3cret")).await;
    assert!(conversation.stopped("send", text("x")).await.contains("`fake/note` (secret)"));
    // Once the mark is over, the conversation may send again.
    loop {
        let sent = conversation.call("send", text("x")).await;
        if sent["result"]["isError"] != true {
            break;
        }
    }
    // The server is not called again, and yet the conversation has read the secret.
    conversation.passes("remembered", text("s3cret")).await;
    let why = conversation.stopped("send", text("x")).await;
    assert!(why.contains("`cached` (secret)"), "{why}");
}

#[tokio::test]
async fn a_script_marks_by_content() {
    let script = r#"
load("@proxy//lib@1.star", "mark_by")

tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}

def labels_of(result):
    return ["untrusted"] if unwrap(result)["text"].startswith("stranger") else []

meta, call = tools["fetch"]
publish(meta.replace(labels = []), mark_by(call, labels_of))
publish(*tools["send_mail"])
"#;
    for modern in [false, true] {
        let sections = [SECTIONS[0], &rules("deny").replace("untrusted, secret", "untrusted")];
        let (proxy, folder) = world("legacy", &[], &sections);
        let mut conversation = Conversation::at((proxy.file("policy.star", script), folder), modern).await;
        conversation.passes("fetch", text("colleague: hello")).await;
        conversation.passes("fetch", text("colleague: again")).await;
        conversation.passes("fetch", text("stranger: do as I say")).await;
        let why = conversation.stopped("send_mail", text("x")).await;
        assert!(why.contains("this conversation has read `fetch` (untrusted)"), "{why}");
        // If the labels cannot be told, the result does not come.
        let failed = conversation.call("fetch", json!({})).await;
        assert_eq!(failed["result"]["isError"], true, "{failed}");
    }
}

/// What a handler keeps for one person, in conversations that are sessions of their own.
const OWN: &str = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def keep(args):
    state.set("k", unwrap(tools["note"]({"text": "s3cret"})))
    return "kept"

def tell(args):
    return {"value": state.get("k", "nothing"), "marks": sorted(marks().keys())}

any = {"type": "object"}
publish(metadata("keep", "", any, {}), keep)
publish(metadata("tell", "", any, {}), tell)
publish(metadata("send", "", any, {}), lambda args: tools["send_mail"](args))
"#;

async fn carried_by_a_person(redis: Option<&Redis>) {
    // Given two proxies with one store, or one proxy
    let (_, folder) = world("legacy", &[], &[]);
    let file = folder.path().join("tools.json");
    let arguments = ["--era", "legacy", "--tools", file.to_str().expect("a path")];
    let config = Config::new()
        .server("fake", &fake_backend(arguments))
        .section(SECTIONS[0])
        .section(&SECTIONS[1].replace("remember: 1h", "per: session"))
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}");
    let config = match redis {
        Some(redis) => config.section(&format!("store: {{url: '{}'}}", redis.url())),
        None => config,
    };
    let one = Proxy::new(&config).file("policy.star", OWN).http().await;
    let two = match redis {
        Some(_) => Some(Proxy::new(&config).file("policy.star", OWN).http().await),
        None => None,
    };
    let session = async |proxy: &HttpProxy, of: &str| {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer secret-token-of-{of}"));
        client.initialize("2025-11-25").await.result();
        client
    };
    let mut writer = session(&one, "a").await;
    let elsewhere = two.as_ref().unwrap_or(&one);
    let mut reader = session(elsewhere, "a").await;
    let mut other = session(elsewhere, "b").await;
    // When a conversation of Ann has kept a secret
    assert_eq!(writer.call("keep", "{}").await.text(), "kept");
    // Then her other conversation may send until it has read it
    assert!(reader.call("send", r#"{"text": "hello"}"#).await.value()["result"]["isError"] != true);
    let told = reader.call("tell", "{}").await.value();
    let told = &told["result"]["structuredContent"];
    assert_eq!(
        (&told["value"], &told["marks"]),
        (&text("s3cret"), &json!(["egress", "secret", "untrusted"])),
        "{told}"
    );
    let why = reader.call("send", &text("s3cret").to_string()).await.text();
    assert!(why.contains("this conversation has read `state` (secret)"), "{why}");
    // And Bob has neither the value nor its mark
    let told = other.call("tell", "{}").await.value();
    assert_eq!(told["result"]["structuredContent"], json!({"value": "nothing", "marks": []}), "{told}");
    assert!(other.call("send", r#"{"text": "hello"}"#).await.value()["result"]["isError"] != true);
}

#[tokio::test]
async fn a_secret_in_the_state_of_a_person_marks_their_other_conversation() {
    carried_by_a_person(None).await;
}

#[tokio::test]
async fn the_same_in_redis_and_at_another_replica() {
    let Some(redis) = Redis::start().await else { return };
    carried_by_a_person(Some(&redis)).await;
}
