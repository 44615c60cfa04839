//! Servers that speak both eras, and show less in the stateless one. A client with a session gets a session with the
//! server, a stateless client its stateless side, and each sees what it would see without the proxy.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::{self, Message};
use crate::support::patience::within;
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const DISCOVER: &str = r#"\"method\":\"server/discover\""#;
const INITIALIZE: &str = r#"\"method\":\"initialize\""#;
const FORM: &str = r#"{"elicitation":{"form":{}}}"#;
/// What shows the difference between the eras.
const CALLS: [(&str, &str); 3] = [("ask", "{}"), ("flood", r#"{"n":2}"#), ("fail", r#"{"message":"no such file"}"#)];

async fn proxy_of(url: &str) -> HttpProxy {
    Proxy::new(&Config::new().remote("fake", url).section("sessionInit: {preset: passthrough@1}")).http().await
}

/// Everything that a call in a session brings: messages on its stream, with every question answered.
async fn in_session(client: &HttpClient, tool: &str, arguments: &str) -> Vec<Value> {
    let body = message::request("7", "tools/call", &message::call(tool, arguments));
    let mut stream = client.send(&client.legacy(&body)).await;
    if !stream.is_event_stream() {
        return vec![Message::new(stream.text().await).value()];
    }
    let mut messages = Vec::new();
    while let Some(message) = stream.next_message().await {
        let mut value = message.value();
        if message.method().as_deref() == Some("elicitation/create") {
            let id = message.id().expect("a question has an id");
            let answer = r#"{"action":"accept","content":{"colour":"red"}}"#;
            assert_eq!(client.send(&client.legacy(&message::result(&id, answer))).await.status, 202);
            value["id"] = Value::Null;
        }
        let done = message.is_response();
        messages.push(value);
        if done {
            break;
        }
    }
    messages
}

/// What a client with a session sees at an address.
async fn session_sees(mut client: HttpClient) -> Vec<Value> {
    client.initialize_with("2025-11-25", FORM).await.result();
    client.request("logging/setLevel", r#"{"level":"debug"}"#).await.result();
    let mut seen = vec![json!(client.request("tools/list", "{}").await.tool_names())];
    for (tool, arguments) in CALLS {
        let outcome = in_session(&client, tool, arguments).await;
        // The id of the question is the server's own, and the proxy has another.
        let text = json!(outcome).to_string();
        let ids: Vec<&str> = text.split("ask-").skip(1).filter_map(|rest| rest.split('\\').next()).collect();
        let text = ids.iter().fold(text.clone(), |text, id| text.replace(&format!("ask-{id}"), "ask"));
        seen.push(serde_json::from_str(&text).expect("JSON"));
    }
    seen
}

/// What a stateless client sees at an address.
async fn stateless_sees(mut client: HttpClient) -> Vec<Value> {
    let mut seen = vec![json!(client.modern("tools/list", "{}").await.tool_names())];
    for (tool, arguments) in CALLS {
        let answer = client.modern_with("tools/call", &message::call(tool, arguments), FORM).await.value();
        seen.push(answer["result"]["content"].clone());
    }
    seen
}

#[tokio::test]
async fn clients_of_both_eras_see_what_they_see_without_the_proxy() {
    let (server, url) = fake_http_backend(&["--poor-modern"]).await;
    let proxy = proxy_of(&url).await;
    let direct = || HttpClient::new(&url, server.stderr.clone());
    // Each is the first and the second to come.
    for _ in 0..2 {
        let (theirs, ours) = (stateless_sees(direct()).await, stateless_sees(proxy.client()).await);
        assert!(theirs[1].to_string().contains("no way to ask"), "the eras differ: {theirs:?}");
        assert_eq!(ours, theirs);
        let (theirs, ours) = (session_sees(direct()).await, session_sees(proxy.client()).await);
        assert!(theirs[1].to_string().contains("red"), "the eras differ: {theirs:?}");
        assert_eq!(ours, theirs);
    }
}

#[tokio::test]
async fn a_stateless_client_is_served_in_sessions_where_only_they_have_what_it_wants() {
    let flags = ["--poor-modern", "--prompts", "--completions", "3", "--modern-lacks", "prompts,completions"];
    let (_server, url) = fake_http_backend(&flags).await;
    let proxy = proxy_of(&url).await;
    let mut client = proxy.client();
    let prompts = client.modern("prompts/list", "{}").await;
    assert!(prompts.raw.contains("greet"), "{}", prompts.raw);
    let prompt = client.modern("prompts/get", r#"{"name":"greet","arguments":{"who":"you"}}"#).await;
    assert!(prompt.raw.contains("greet with"), "{}", prompt.raw);
    let partial = r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"y"}}"#;
    let completion = client.modern("completion/complete", partial).await;
    assert!(completion.raw.contains(r#""total":3"#), "{}", completion.raw);
    let fails = client.modern_call("fail", r#"{"message":"why"}"#).await;
    assert!(fails.raw.contains("internal error"), "tools are those of the stateless side: {}", fails.raw);
}

#[tokio::test]
async fn a_stateless_client_has_the_completions_that_only_its_era_has() {
    let (_server, url) = fake_http_backend(&["--prompts", "--completions", "3", "--legacy-lacks", "completions"]).await;
    let proxy = proxy_of(&url).await;
    let partial = r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"y"}}"#;
    let completion = proxy.client().modern("completion/complete", partial).await;
    assert!(completion.raw.contains(r#""total":3"#), "{}", completion.raw);
}

#[tokio::test]
async fn a_server_of_one_era_serves_clients_of_both() {
    for era in ["legacy", "modern"] {
        let (_server, url) = fake_http_backend(&["--era", era]).await;
        let proxy = proxy_of(&url).await;
        let (mut session, mut stateless) = (proxy.client(), proxy.client());
        session.initialize("2025-11-25").await.result();
        for answer in [session.call("params", "{}").await, stateless.modern_call("params", "{}").await] {
            let is_modern = answer.structured().contains("io.modelcontextprotocol/protocolVersion");
            assert_eq!(is_modern, era == "modern", "{}", answer.raw);
        }
    }
}

/// What one process saw of a client of this era on a pipe.
async fn seen_on_pipe(proxy: Proxy, modern: bool) -> (String, Proxy) {
    let mut proxy = proxy.stdio();
    let seen = if modern {
        let stderr = proxy.client.stderr().clone();
        let listed = async {
            while !proxy.client.modern("tools/list", "{}").await.tool_names().contains(&"seen".to_owned()) {
                tokio::task::yield_now().await;
            }
        };
        within("the tool `seen`", &stderr, listed).await;
        proxy.client.modern_call("seen", "{}").await
    } else {
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.iter().any(|name| name == "seen")).await;
        proxy.client.call("seen", "{}").await
    };
    let seen = seen.structured();
    proxy.client.finish().await;
    (seen, proxy.world)
}

#[tokio::test]
async fn a_process_is_met_in_the_era_of_the_only_client() {
    let config = Config::new().server("fake", &fake_backend(["--poor-modern"]));
    for modern in [false, true] {
        let (seen, _) = seen_on_pipe(Proxy::new(&config), modern).await;
        let counts = (seen.matches(INITIALIZE).count(), seen.matches(DISCOVER).count());
        assert_eq!(counts, if modern { (0, 1) } else { (1, 0) }, "{seen}");
    }
}

#[tokio::test]
async fn the_next_start_asks_the_right_question_first() {
    for (era, modern_client) in [("modern", false), ("legacy", true)] {
        let config = Config::new().server("fake", &fake_backend(["--era", era]));
        let (first, world) = seen_on_pipe(Proxy::new(&config), modern_client).await;
        assert_eq!((first.matches(INITIALIZE).count(), first.matches(DISCOVER).count()), (1, 1), "{first}");
        let (second, _) = seen_on_pipe(world, modern_client).await;
        let counts = (second.matches(INITIALIZE).count(), second.matches(DISCOVER).count());
        assert_eq!(counts, if era == "modern" { (0, 1) } else { (1, 0) }, "{second}");
    }
}

#[tokio::test]
async fn a_stateless_client_meets_a_process_in_a_session_if_that_offers_more() {
    let flags = ["--prompts", "--modern-lacks", "prompts"];
    let config = Config::new().server("fake", &fake_backend(flags));
    let (_, world) = seen_on_pipe(Proxy::new(&config), false).await;
    let (seen, world) = seen_on_pipe(world, true).await;
    assert!(seen.contains(DISCOVER), "not known yet what is missing: {seen}");
    let (seen, _) = seen_on_pipe(world, true).await;
    assert!(seen.contains(INITIALIZE) && !seen.contains(DISCOVER), "{seen}");
}

#[tokio::test]
async fn a_pinned_version_is_used_for_clients_of_both_eras() {
    for (version, is_modern) in [("2025-11-25", false), ("2026-07-28", true)] {
        let (_server, url) = fake_http_backend(&[]).await;
        let config = Config::new().remote_with("fake", &url, json!({"protocol": version}));
        let proxy = Proxy::new(&config).http().await;
        let (mut session, mut stateless) = (proxy.client(), proxy.client());
        session.initialize("2025-11-25").await.result();
        for answer in [session.call("params", "{}").await, stateless.modern_call("params", "{}").await] {
            assert_eq!(answer.structured().contains("protocolVersion"), is_modern, "{}", answer.raw);
        }
    }
}

fn is_modern(answer: &Message) -> bool {
    answer.structured().contains("io.modelcontextprotocol/protocolVersion")
}

/// Calls as a stateless client until the server is met in that era.
async fn stateless_side(proxy: &HttpProxy) {
    let mut client = proxy.client();
    let met = async {
        while !is_modern(&client.modern_call("params", "{}").await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("the stateless side of the server", &proxy.program.stderr, met).await;
}

#[tokio::test]
async fn a_stateless_side_that_does_not_respond_is_used_again_when_it_does() {
    let directory = TempDir::new();
    let faults = directory.write("faults", "").display().to_string();
    let (_server, url) = fake_http_backend(&["--faults", &faults]).await;
    let proxy = proxy_of(&url).await;
    stateless_side(&proxy).await;
    let world = proxy.world;
    drop(proxy.program);

    // An earlier proxy has seen that side. Until it is back, stateless clients are served in a session.
    directory.write("faults", "ignore server/discover");
    let proxy = world.http().await;
    let answer = proxy.client().modern_call("params", "{}").await;
    assert!(!is_modern(&answer), "{}", answer.raw);
    directory.write("faults", "");
    stateless_side(&proxy).await;
}

/// The fake backend, started after a line of shell.
fn started_after(line: &str) -> Command {
    let server = fake_backend([]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{line}; exec \"$0\" \"$@\"")]).arg(server.get_program()).args(server.get_args());
    command
}

#[tokio::test]
async fn a_process_that_is_pinned_to_sessions_is_started_once() {
    let directory = TempDir::new();
    let starts = directory.path().join("starts");
    let server = started_after(&format!("echo started >> {}", starts.display()));
    let proxy = Proxy::new(&Config::new().server_with("fake", &server, json!({"protocol": "2025-11-25"}))).http().await;
    proxy.client().modern_call("params", "{}").await.result();
    assert_eq!(std::fs::read_to_string(starts).expect("it was started"), "started\n");
}

#[tokio::test]
async fn a_process_that_takes_long_to_start_is_met_in_both_eras() {
    let directory = TempDir::new();
    let seconds = directory.write("seconds", "0");
    let slow = started_after(&format!("sleep \"$(cat {})\"", seconds.display()));
    let proxy = Proxy::new(&Config::new().server_with("fake", &slow, json!({"probeTimeout": "100ms"}))).http().await;
    let mut session = proxy.client();
    session.initialize("2025-11-25").await.result();
    session.call("pid", "{}").await.result();
    // The second process takes longer than a server may take to answer.
    directory.write("seconds", "1");
    stateless_side(&proxy).await;
}
