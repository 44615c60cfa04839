//! A script may ask whom it runs for: then everybody sees what is theirs, and nothing else.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const LIST_CHANGED: &str = "notifications/tools/list_changed";
const TOKENS: &str = "auth: {tokens: [
  {token: secret-token-of-a, sub: ann, email: ann@a.example, name: Ann, groups: [ops, dev], claims: {team: red}},
  {token: secret-token-of-b, sub: bob}, {token: secret-token-of-c, sub: cid}, {token: secret-token-of-d, sub: cid, groups: [ops]}]}";

/// Tools whose names begin with `ops_`, and `add_tool`, are for people of the group `ops` only.
const BY_GROUP: &str = r#"
ops = "ops" in current_user().groups
for backend in backends().values():
    for meta, call in backend.tools():
        if ops or not (meta.name.startswith("ops_") or meta.name == "add_tool"):
            publish(meta, call)
instructions("for " + current_user().sub)
"#;

async fn serving(script: &str) -> HttpProxy {
    let config = Config::new()
        // Of one era: clients of both share one process and its tools.
        .server("fake", &fake_backend(["--era", "legacy", "--only", "echo,add_tool"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(TOKENS);
    Proxy::new(&config).file("policy.star", script).http().await
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

async fn session(proxy: &HttpProxy, token: &str) -> (HttpClient, Value) {
    let mut client = holder(proxy, token);
    let handshake = client.initialize("2025-11-25").await.value();
    (client, handshake["result"].clone())
}

#[tokio::test]
async fn two_people_see_different_tools_and_cannot_call_each_other_s() {
    let proxy = serving(BY_GROUP).await;
    let (mut ann, to_ann) = session(&proxy, "secret-token-of-a").await;
    let (mut bob, to_bob) = session(&proxy, "secret-token-of-b").await;
    assert_eq!((&to_ann["instructions"], &to_bob["instructions"]), (&json!("for ann"), &json!("for bob")));
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["echo"]);
    ann.call("add_tool", r#"{"name":"ops_one"}"#).await.result();
    let refused = bob.call("add_tool", r#"{"name":"ops_two"}"#).await;
    assert!(refused.error_message().contains("unknown tool"), "{}", refused.raw);

    for (token, tools) in [("secret-token-of-a", vec!["echo", "add_tool"]), ("secret-token-of-b", vec!["echo"])] {
        let listed = holder(&proxy, token).modern("tools/list", "{}").await;
        assert_eq!(&listed.tool_names()[..tools.len()], tools);
        // What is made for one is nobody else's to keep.
        assert_eq!(listed.value()["result"]["cacheScope"], "private");
    }
    let refused = holder(&proxy, "secret-token-of-b").modern_call("add_tool", r#"{"name":"ops_two"}"#).await;
    assert!(refused.error_message().contains("unknown tool"), "{}", refused.raw);
}

#[tokio::test]
async fn the_same_person_with_other_groups_sees_something_else() {
    let proxy = serving(BY_GROUP).await;
    assert_eq!(holder(&proxy, "secret-token-of-c").modern("tools/list", "{}").await.tool_names(), ["echo"]);
    assert_eq!(holder(&proxy, "secret-token-of-d").modern("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
    assert_eq!(holder(&proxy, "secret-token-of-c").modern("tools/list", "{}").await.tool_names(), ["echo"]);
}

#[tokio::test]
async fn only_those_are_told_of_a_change_for_whom_something_changed() {
    let proxy = serving(BY_GROUP).await;
    let (mut ann, _) = session(&proxy, "secret-token-of-a").await;
    let (mut bob, _) = session(&proxy, "secret-token-of-b").await;
    let (mut told, mut not_told) = (ann.get_stream().await, bob.get_stream().await);
    let subscribe = HttpRequest::modern("9", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut listening = holder(&proxy, "secret-token-of-a").send(&subscribe).await;
    let mut deaf = holder(&proxy, "secret-token-of-b").send(&subscribe).await;
    for stream in [&mut listening, &mut deaf] {
        let first = stream.next_message().await.and_then(|message| message.method());
        assert_eq!(first.as_deref(), Some("notifications/subscriptions/acknowledged"));
    }
    ann.request("tools/list", "{}").await.result();
    bob.request("tools/list", "{}").await.result();
    // Two changes: bob hears of the second only, which is the one that he sees.
    ann.call("add_tool", r#"{"name":"ops_one"}"#).await.result();
    assert_eq!(next(&mut told).await, LIST_CHANGED);
    assert_eq!(next(&mut listening).await, LIST_CHANGED);
    ann.call("add_tool", r#"{"name":"plain"}"#).await.result();
    for stream in [&mut told, &mut listening, &mut not_told, &mut deaf] {
        assert_eq!(next(stream).await, LIST_CHANGED);
    }
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["echo", "plain"]);
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "add_tool", "ops_one", "plain"]);
    ann.call("add_tool", r#"{"name":"ops_two"}"#).await.result();
    assert_eq!(next(&mut told).await, LIST_CHANGED);
    ann.call("add_tool", r#"{"name":"last"}"#).await.result();
    // Had bob been told of `ops_two`, this would be that, and the next list would lack `last`.
    assert_eq!(next(&mut not_told).await, LIST_CHANGED);
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["echo", "plain", "last"]);
}

async fn next(stream: &mut crate::support::http_client::HttpReply) -> String {
    stream.next_message().await.and_then(|message| message.method()).expect("a notification")
}

const WHO: &str = r#"
def shown(user, client):
    return {
        "user": [user.sub, user.email, user.name, user.groups, user.claims, user.anonymous],
        "client": [client.name, client.version, client.protocol_version, client.capabilities],
    }

top = shown(current_user(), client())

def who(args):
    return {"top": top, "now": shown(current_user(), client())}

publish(metadata("who", "", {}, {}), who)
"#;

fn who(answer: &Message) -> (Value, Value) {
    let said: Value = serde_json::from_str(&answer.structured()).expect("JSON");
    assert_eq!(said["top"], said["now"], "a surface is for whoever uses it");
    (said["now"]["user"].clone(), said["now"]["client"].clone())
}

#[tokio::test]
async fn a_script_knows_user_and_client_in_both_eras() {
    let proxy = serving(WHO).await;
    let ann = json!(["ann", "ann@a.example", "Ann", ["ops", "dev"], {"team": "red"}, false]);
    let mut client = holder(&proxy, "secret-token-of-a");
    client.initialize_with("2025-06-18", r#"{"elicitation":{}}"#).await.result();
    let (user, about) = who(&client.call("who", "{}").await);
    assert_eq!(user, ann);
    assert_eq!(about, json!(["test-client", "1.0.0", "2025-06-18", {"elicitation": {}}]));
    let call = message::call("who", "{}");
    let (user, about) =
        who(&holder(&proxy, "secret-token-of-a").modern_with("tools/call", &call, r#"{"roots":{}}"#).await);
    assert_eq!(user, ann);
    assert_eq!(about, json!(["test-client", "1.0.0", "2026-07-28", {"roots": {}}]));
    let (user, about) = who(&holder(&proxy, "secret-token-of-b").modern("tools/call", &call).await);
    assert_eq!(user, json!(["bob", "", "", [], {}, false]));
    assert_eq!(about[3], json!({}));
}

#[tokio::test]
async fn on_a_pipe_the_user_is_who_started_the_proxy_and_without_tokens_nobody_has_a_name() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let world = Proxy::new(&config).file("policy.star", WHO).environment("USER", "tess").environment("LOGNAME", "tess");
    let mut pipe = world.stdio();
    pipe.client.initialize("2025-11-25").await.result();
    assert_eq!(who(&pipe.client.call("who", "{}").await).0[0], "tess");
    let proxy = Proxy::new(&config).file("policy.star", WHO).http().await;
    let (user, _) = who(&proxy.client().modern_call("who", "{}").await);
    assert_eq!(user, json!(["anonymous", "", "", [], {}, true]));
}

/// Fails for bob alone, and from the second tool on for ann.
const FAILS: &str = r#"
user = current_user().sub
tools = backends()["fake"].tools()
if user == "bob" or (user == "ann" and len(tools) > 2):
    fail("not for " + user)
for meta, call in tools:
    publish(meta, call)
"#;

#[tokio::test]
async fn a_script_that_fails_for_somebody_concerns_nobody_else() {
    let proxy = serving(FAILS).await;
    let (mut ann, _) = session(&proxy, "secret-token-of-a").await;
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
    let refused = holder(&proxy, "secret-token-of-b").modern("tools/list", "{}").await;
    assert!(refused.error_message().contains("session script failed"), "{}", refused.raw);
    ann.call("add_tool", r#"{"name":"more"}"#).await.result();
    proxy.program.stderr.line("not for ann").await;
    let cid = holder(&proxy, "secret-token-of-c").modern("tools/list", "{}").await;
    assert_eq!(cid.tool_names(), ["echo", "add_tool", "more"]);
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
    assert!(!proxy.program.stderr.text().contains("secret-"));
}

#[tokio::test]
async fn a_script_that_asks_nothing_runs_once_for_all() {
    let script = "print('a run')\nfor meta, call in backends()['fake'].tools():\n    publish(meta, call)\n";
    let proxy = serving(script).await;
    for token in ["secret-token-of-a", "secret-token-of-b", "secret-token-of-c"] {
        let (mut client, _) = session(&proxy, token).await;
        assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
        assert_eq!(holder(&proxy, token).modern("tools/list", "{}").await.tool_names(), ["echo", "add_tool"]);
    }
    proxy.program.stderr.line("a run").await;
    assert_eq!(proxy.program.stderr.text().matches("a run").count(), 1);
}

#[tokio::test]
async fn the_command_line_calls_as_anybody() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }").section(TOKENS);
    let world = Proxy::new(&config).file("policy.star", WHO).environment("USER", "tess").environment("LOGNAME", "tess");
    for (arguments, user) in [
        (vec!["call", "who"], json!(["tess", "", "", [], {}, false])),
        (
            vec!["call", "who", "--as-user", "ann"],
            json!(["ann", "ann@a.example", "Ann", ["ops", "dev"], {"team": "red"}, false]),
        ),
        (vec!["call", "who", "--as-user", "zoe"], json!(["zoe", "", "", [], {}, false])),
    ] {
        let said: Value =
            serde_json::from_str(&Finished::run(world.command(arguments)).await.expect(0).stdout).expect("JSON");
        assert_eq!((&said["now"]["user"], &said["top"]["user"]), (&user, &user));
    }
}

const ONLY_KNOWN: &str = r#"
user = current_user()
if user.anonymous:
    fail("nobody may come in without a name")
if user.sub in ["ann", "tess"]:
    fail("not for " + user.sub)
publish(metadata("who", "Says who calls.", {}, {}), lambda args: current_user().sub)
"#;

#[tokio::test]
async fn a_script_for_people_with_tokens_is_tried_for_them_and_not_for_nobody() {
    let proxy = serving(ONLY_KNOWN).await;
    assert_eq!(holder(&proxy, "secret-token-of-b").modern_call("who", "{}").await.text(), "bob");
    let refused = holder(&proxy, "secret-token-of-a").modern("tools/list", "{}").await;
    assert!(refused.value()["error"].is_object(), "it fails for her alone: {}", refused.raw);
    proxy.program.stderr.line("the script ran for the user `ann`").await;
}

#[tokio::test]
async fn a_script_that_works_for_none_of_them_says_for_whom_it_was_tried() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let world = |config: &Config| Proxy::new(config).file("policy.star", ONLY_KNOWN);
    let failed = world(&config).refused().await.stderr;
    assert!(failed.contains("error: nobody may come in without a name\n --> policy.star:4:5"), "{failed}");
    assert!(failed.contains("the script ran for an anonymous user"), "{failed}");
    assert!(failed.contains("because `auth.tokens` names nobody"), "{failed}");
    let only_ann = config.section("auth: {tokens: [{token: secret-token-of-a, sub: ann}]}");
    let failed = world(&only_ann).refused().await.stderr;
    assert!(failed.contains("error: not for ann"), "{failed}");
    assert!(failed.contains("the script ran for the user `ann`"), "{failed}");
}

#[tokio::test]
async fn the_command_line_calls_as_somebody_where_the_script_fails_for_its_own_user() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let world =
        Proxy::new(&config).file("policy.star", ONLY_KNOWN).environment("USER", "tess").environment("LOGNAME", "tess");
    let called = Finished::run(world.command(["call", "who", "--as-user", "bob"])).await.expect(0);
    assert_eq!(called.stdout.trim(), "bob");
    let failed = Finished::run(world.command(["call", "who"])).await.expect(1).stderr;
    assert!(failed.contains("error: not for tess"), "{failed}");
    assert!(failed.contains("the script ran for the user `tess`"), "{failed}");
}
