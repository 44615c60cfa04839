//! Resources of extensions and scripts that clients follow: a change is told, and costs one run of the handler.

use serde_json::{Value, json};

use super::{refused, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::follower::{ERAS, HttpFollower, StdioFollower, UPDATED};
use crate::support::modern::{modern_meta, with_meta};
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, Told, legacy, modern};

/// `board://all` is what `put` wrote last, `board://mine` what the caller wrote, `board://file` a file. `runs` tells how often a
/// handler ran.
const BOARD: &str = r#"
def shown(params):
    shared_state.incr("runs")
    text = shared_state.get("text", "nothing")
    if text == "broken":
        fail("the board is broken")
    return "all: " + text

def mine(params):
    return "%s: %s" % (current_user().sub, state.get("text", "nothing"))

def file(params):
    shared_state.incr("runs")
    return data.load_text("board.txt")

def put(params):
    shared_state.set("text", params["text"])
    state.set("text", params["text"])
    return "put"

def text_parameter():
    return ToolParameter(name = "text", param_type = "string", required = True)

def describe_extension():
    return Extension(
        name = "board",
        version = "1",
        tools = [
            Tool(name = "put", description = "", handler = put, parameters = [text_parameter()]),
            Tool(name = "runs", description = "", handler = lambda params: str(shared_state.get("runs", 0))),
        ],
        resources = [
            Resource(uri = "board://all", name = "all", handler = shown, refresh = 0.02),
            Resource(uri = "board://mine", name = "mine", handler = mine, refresh = 0.02),
            Resource(uri = "board://file", name = "file", handler = file, refresh = 3600),
            Resource(uri = "board://once", name = "once", handler = shown),
        ],
    )
"#;

const ALL: &str = "board://all";
const FILE: &str = "board://file";

fn board() -> Proxy {
    world(&[("board.star", BOARD), ("board.txt", "first")])
}

/// The same board, made by the session script.
const SCRIPT: &str = r#"
sessionInit:
  script: |
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    publish(metadata("put", "", schema, {}), lambda args: shared_state.set("text", args["text"]))
    publish_resource(resource_metadata("board://all", "all"), lambda args: shared_state.get("text", ""), refresh = 0.02)

    def on_request(request):
        if request.method == "resources/read":
            fail("nobody reads here")
"#;

fn script() -> Proxy {
    Proxy::new(&Config::new().section(SCRIPT))
}

#[tokio::test]
async fn a_change_is_told_in_both_eras_over_both_transports() {
    for modern in ERAS {
        for proxy in [board(), script()] {
            let mut client = StdioFollower::start(proxy, modern).await;
            assert_eq!(client.follow(&[ALL]).await, [ALL]);
            for text in ["one", "two"] {
                client.call("put", json!({ "text": text })).await.result();
                assert_eq!(client.updated().await, ALL);
            }
        }
        for proxy in [board(), script()] {
            let proxy = proxy.http().await;
            let mut client = HttpFollower::of(&proxy, modern).await;
            assert_eq!(client.follow(&[ALL]).await, [ALL]);
            client.call("put", json!({"text": "one"})).await.result();
            assert_eq!(client.updated().await, ALL);
        }
    }
}

#[tokio::test]
async fn another_implementation_follows_an_extension() {
    // The folder must outlive the client: the proxy notices when its extensions are removed.
    let world = board();
    let client = RmcpClient::stdio(world.serve_command(), legacy()).await;
    client.subscribe(ALL).await;
    client.call("put", json!({"text": "one"})).await;
    assert!(matches!(client.told().await, Told::Updated(uri) if uri == ALL));
    client.finish().await;
    let client = RmcpClient::stdio(world.serve_command(), modern()).await;
    let mut subscription = client.listen_to(ALL).await;
    client.call("put", json!({"text": "one"})).await;
    assert_eq!(client.updated(&mut subscription).await, ALL);
    client.finish().await;
}

async fn runs(client: &mut StdioFollower) -> u64 {
    client.call("runs", json!({})).await.text().parse().expect("a number")
}

#[tokio::test]
async fn a_thousand_followers_cost_one_refresh_and_a_changed_file_is_told_to_all_at_once() {
    const FOLLOWERS: usize = 1000;
    let mut client = StdioFollower::start(board(), true).await;
    let listen = with_meta(&json!({"notifications": {"resourceSubscriptions": [FILE]}}).to_string(), &modern_meta());
    for _ in 0..FOLLOWERS {
        client.proxy.client.begin("subscriptions/listen", &listen).await;
    }
    for _ in 0..FOLLOWERS {
        let accepted =
            client.proxy.client.expect_notification("notifications/subscriptions/acknowledged").await.value();
        assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], json!([FILE]));
    }
    assert_eq!(runs(&mut client).await, 1);
    client.proxy.world.directory.write("tools/board.txt", "second");
    for _ in 0..FOLLOWERS {
        assert_eq!(client.updated().await, FILE);
    }
    while runs(&mut client).await < 2 {}
    // Writing a file may be more than one event.
    let runs = runs(&mut client).await;
    assert!(runs <= 4, "{runs} refreshes");
}

#[tokio::test]
async fn a_resource_that_depends_on_the_user_is_refreshed_for_each_of_them() {
    let config = Config::new()
        .section("extensions: { paths: [tools] }")
        .section("sessionInit: { preset: passthrough }")
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}");
    let proxy = Proxy::new(&config).file("tools/board.star", BOARD).file("tools/board.txt", "").http().await;
    let holder = |token: &str| proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    let mine = "board://mine";
    for modern in ERAS {
        let mut ann = HttpFollower::with(holder("secret-token-of-a"), modern).await;
        let mut bob = HttpFollower::with(holder("secret-token-of-b"), modern).await;
        assert_eq!(ann.follow(&[mine]).await, [mine]);
        assert_eq!(bob.follow(&[mine, ALL]).await, [mine, ALL]);
        ann.call("put", json!({"text": format!("of ann, {modern}")})).await.result();
        assert_eq!(ann.updated().await, mine);
        // What concerns everybody is the first that bob hears of.
        assert_eq!(bob.updated().await, ALL);
        bob.call("put", json!({"text": format!("of bob, {modern}")})).await.result();
        while bob.updated().await != mine {}
    }
}

/// Waits until a handler has run this many times more.
async fn more_runs(client: &mut StdioFollower, more: u64) {
    let wanted = runs(client).await + more;
    while runs(client).await < wanted {}
}

#[tokio::test]
async fn a_failing_refresh_is_logged_once_keeps_the_result_and_goes_on() {
    let mut client = StdioFollower::start(board(), false).await;
    client.call("put", json!({"text": "one"})).await.result();
    client.follow(&[ALL]).await;
    client.call("put", json!({"text": "broken"})).await.result();
    client.proxy.client.stderr().line("cannot be refreshed: ").await;
    more_runs(&mut client, 5).await;
    client.call("put", json!({"text": "one"})).await.result();
    client.proxy.client.stderr().line("the resource is refreshed again").await;
    client.call("put", json!({"text": "two"})).await.result();
    assert_eq!(client.updated().await, ALL);
    assert_eq!(client.proxy.client.unclaimed().filter(|one| one.method().as_deref() == Some(UPDATED)).count(), 0);
    let log = client.proxy.client.stderr().text();
    assert_eq!(log.matches("cannot be refreshed: ").count(), 1, "{log}");
    assert!(log.contains("the board is broken") && log.contains("board.star:6"), "{log}");
}

#[tokio::test]
async fn a_slow_handler_does_not_run_twice_at_once() {
    let slow = r#"
def shown(params):
    if shared_state.incr("inside") > 1:
        shared_state.set("overlapping", True)
    time.sleep(0.05)
    shared_state.incr("inside", by = -1)
    return str(shared_state.incr("runs"))

def describe_extension():
    return Extension(
        name = "slow",
        version = "1",
        tools = [Tool(name = "overlapping", description = "", handler = lambda params: str(shared_state.get("overlapping", False)))],
        resources = [Resource(uri = "board://all", name = "all", handler = shown, refresh = 0.001)],
    )
"#;
    let mut client = StdioFollower::start(world(&[("slow.star", slow)]), false).await;
    client.follow(&[ALL]).await;
    for _ in 0..5 {
        assert_eq!(client.updated().await, ALL);
    }
    assert_eq!(client.call("overlapping", json!({})).await.text(), "False");
}

#[tokio::test]
async fn a_reload_of_the_extension_or_the_script_keeps_the_followers() {
    for modern in ERAS {
        let mut client = StdioFollower::start(board(), modern).await;
        client.follow(&[ALL]).await;
        client.proxy.world.directory.write("tools/board.star", &BOARD.replace("\"all: \"", "\"everything: \""));
        assert_eq!(client.updated().await, ALL);
        client.call("put", json!({"text": "after it"})).await.result();
        assert_eq!(client.updated().await, ALL);

        let mut client = StdioFollower::start(script(), modern).await;
        client.follow(&[ALL]).await;
        let changed = SCRIPT.replace("shared_state.get(\"text\", \"\")", "\"now \" + shared_state.get(\"text\", \"\")");
        client.proxy.world.directory.write("proxy.yaml", &Config::new().section(&changed).text());
        assert_eq!(client.updated().await, ALL);
        client.call("put", json!({"text": "after it"})).await.result();
        assert_eq!(client.updated().await, ALL);
    }
}

#[tokio::test]
async fn nothing_runs_once_the_last_follower_has_left() {
    let mut client = StdioFollower::start(board(), false).await;
    client.follow(&[ALL, "board://mine"]).await;
    more_runs(&mut client, 2).await;
    let params = json!({ "uri": ALL }).to_string();
    client.proxy.client.request("resources/unsubscribe", &params).await.result();
    let left = runs(&mut client).await;
    // Time passes: the other resource is refreshed meanwhile.
    for text in ["one", "two", "three", "four"] {
        client.call("put", json!({ "text": text })).await.result();
        assert_eq!(client.updated().await, "board://mine");
    }
    // The one that was running when the client left may have counted.
    let now = runs(&mut client).await;
    assert!(now <= left + 1, "{left} before, {now} after");
}

#[tokio::test]
async fn only_a_resource_with_refresh_can_be_followed_and_only_by_those_who_may_read_it() {
    let cedar = "cedar: {policies: [policies/*.cedar]}";
    let config = Config::new()
        .section("extensions: { paths: [tools] }")
        .section("sessionInit: { preset: passthrough }")
        .section("auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}")
        .section(cedar);
    let policy = "permit(principal, action, resource);\nforbid(principal, action, resource) when { resource.name == \"all\" } unless { principal == Client::\"ann\" };\n";
    let proxy = Proxy::new(&config).file("tools/board.star", BOARD).file("policies/a.cedar", policy).http().await;
    let holder = |token: &str| proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    for modern in ERAS {
        let mut ann = HttpFollower::with(holder("secret-token-of-a"), modern).await;
        assert_eq!(ann.follow(&[ALL, "board://once", "board://none"]).await, [ALL]);
        let mut bob = HttpFollower::with(holder("secret-token-of-b"), modern).await;
        assert_eq!(bob.follow(&[ALL, "board://mine"]).await, ["board://mine"]);
    }
}

#[tokio::test]
async fn refresh_is_a_number_of_seconds_and_the_handler_is_the_scripts_own() {
    let text = refused(&[("board.star", &BOARD.replace("refresh = 3600", "refresh = 0"))]).await;
    assert!(text.contains("`refresh` must be a number of seconds above 0"), "{text}");
    let script = r#"
for meta, call in backends()["board"].resources():
    publish_resource(meta, call, refresh = 5)
"#;
    let config = Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { scriptFile: s.star }");
    let world = Proxy::new(&config).file("s.star", script).file("tools/board.star", BOARD);
    let finished = Finished::run(world.command(["check", "--config", "proxy.yaml"])).await;
    let told =
        "`refresh` of `board://all` needs a handler written in the script; this handler belongs to server `board`";
    assert!(finished.stderr.contains(told) && finished.stderr.contains("s.star:3"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_handler_that_asks_or_is_wrapped_is_followed_as_far_as_that_goes() {
    let asking = r#"
def asks(params):
    return elicit("Sure?", when_unavailable = "accept").action

def describe_extension():
    return Extension(name = "asking", version = "1", resources = [
        Resource(uri = "board://all", name = "all", handler = asks, refresh = 0.02),
    ])
"#;
    let mut client = StdioFollower::start(world(&[("asking.star", asking)]), false).await;
    assert_eq!(client.follow(&[ALL]).await, [ALL]);
    client.proxy.client.stderr().line("the user cannot be asked").await;

    // A wrapped resource changes with the one that it wraps, under its own name.
    let script = r#"
def wrapped(call):
    return lambda args: call(args)["contents"][0]["text"].upper()

board = backends()["board"]
for meta, call in board.tools():
    publish(meta, call)
for meta, call in board.resources():
    publish_resource(meta.replace(uri = meta.uri.replace("board://", "team://")), wrapped(call))
"#;
    let config = Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { scriptFile: s.star }");
    let proxy = Proxy::new(&config).file("s.star", script).file("tools/board.star", BOARD);
    let mut client = StdioFollower::start(proxy, true).await;
    assert_eq!(client.follow(&["team://all", "team://once"]).await, ["team://all"]);
    client.call("put", json!({"text": "one"})).await.result();
    assert_eq!(client.updated().await, "team://all");
    let read: Value = client.proxy.client.modern("resources/read", r#"{"uri":"team://all"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "ALL: ONE", "{read}");
}
