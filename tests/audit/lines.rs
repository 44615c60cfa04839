//! What is in the log.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::{KEY, calls, lines_until, parsed, text, world};
use crate::elicitation::accepted;
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn every_use_of_an_item_is_a_line_without_its_arguments() {
    let mut proxy = world("results: digest").stdio();
    let client = &mut proxy.client;
    client.initialize("2025-11-25").await.result();
    client.request("tools/list", "{}").await.result();
    client.call("echo", r#"{"text":"s3cret-argument"}"#).await.result();
    client.call("echo", r#"{"text":"closed s3cret-argument"}"#).await.result();
    client.call("noted", r#"{"n":1}"#).await.result();
    client.call("noted", r#"{"n":"s3cret-argument"}"#).await.result();
    client.call("nothing", "{}").await.error_code();
    client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"s3cret-argument"}}"#).await.result();
    client.request("resources/read", r#"{"uri":"memo://greeting"}"#).await.result();
    client.finish().await;

    let file = proxy.world.directory.path().join("logs/audit.jsonl");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let written = text(&proxy.world, "audit.jsonl");
    assert!(!written.contains("s3cret"), "{written}");
    let lines = parsed(&written);
    let kinds: Vec<_> = lines.iter().map(|line| (line["type"].as_str(), line["outcome"].as_str())).collect();
    let expected = [
        ("log_opened", None),
        ("surface", None),
        ("mcp_tool_call", Some("success")),
        ("mcp_tool_call", Some("denied")),
        ("script", None),
        ("mcp_tool_call", Some("success")),
        ("mcp_tool_call", Some("failure")),
        ("mcp_tool_call", Some("failure")),
        ("mcp_prompt_get", Some("success")),
        ("mcp_resource_read", Some("success")),
        ("seal", None),
    ];
    assert_eq!(kinds, expected.map(|(kind, outcome)| (Some(kind), outcome)), "{written}");

    let [surface, done, denied, script, wrapped] = [1, 2, 3, 4, 5].map(|at| &lines[at]);
    assert_eq!(surface["policy"]["digest"], done["policy"]["digest"]);
    assert_eq!(surface["published"], json!({"tools": 2, "resources": 2, "resourceTemplates": 1, "prompts": 1}));
    assert_eq!(done["subject"]["client"], "test-client/1.0.0");
    assert_eq!(done["source"], json!({"type": "stdio"}));
    let target = &done["target"];
    assert_eq!(
        (&target["type"], &target["server"], &target["original"]),
        (&json!("tool"), &json!("fake"), &json!("echo"))
    );
    for digest in [&target["definition"], &done["policy"]["digest"], &done["prev"]] {
        assert!(digest.as_str().is_some_and(|text| text.starts_with("sha256:") && text.len() == 71), "{digest}");
    }
    for digest in [&done["arguments"]["digest"], &done["result"]["digest"]] {
        assert!(digest.as_str().is_some_and(|text| text.starts_with("hmac:")), "{done}");
    }
    assert_eq!((&done["calls"][0]["server"], &done["calls"][0]["name"]), (&json!("fake"), &json!("echo")));
    let policy = &denied["policy"];
    assert_eq!((&policy["by"], &policy["at"]), (&json!("on_request"), &json!("policy.star:4")), "{policy}");
    assert_eq!((&policy["digest"], &denied["calls"]), (&done["policy"]["digest"], &json!([])));
    assert_eq!((&script["message"], &script["fields"]["ticket"]), (&json!("noted"), &json!(7)));
    assert_eq!(wrapped["target"]["server"], Value::Null, "the script made it");
    assert_eq!(wrapped["calls"][0]["name"], "echo", "and called this");
    assert!(!proxy.client.stderr().text().contains(KEY));
}

#[tokio::test]
async fn requests_without_a_valid_token_are_in_the_log() {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .section("audit: { file: logs/audit.jsonl }\nauth: { tokens: [{ token: secret-token-of-a, sub: ann }] }");
    let proxy = Proxy::new(&config).http().await;
    let call = |token: &str| {
        let call = HttpRequest::modern("1", "tools/call", r#"{"name":"echo","arguments":{"a":1}}"#);
        call.header("Authorization", &format!("Bearer {token}"))
    };
    assert_eq!(proxy.client().send(&call("a-wrong-token-of-b")).await.status, 401);
    proxy.client().send(&call("secret-token-of-a")).await.response().await.result();
    let lines = lines_until(&proxy.world, "audit.jsonl", &proxy.program.stderr, |lines| lines.len() >= 4).await;
    let lines: Vec<Value> = lines.into_iter().filter(|line| line["type"] != "surface").collect();
    let refused = &lines[1];
    assert_eq!((&refused["type"], &refused["outcome"]), (&json!("authentication"), &json!("denied")));
    assert_eq!((&refused["requests"], &refused["source"]["value"]), (&json!(1), &json!("127.0.0.1")));
    // Without a key there is nothing but the size of the arguments.
    assert_eq!((&lines[2]["subject"]["sub"], &lines[2]["arguments"]), (&json!("ann"), &json!({"bytes": 7})));
}

/// Publishes what the server has, and a tool that asks before it calls the server.
const ASKING: &str = r#"
def careful(args):
    elicit("Sure?", when_unavailable = "error")
    return tools["echo"](args)

tools = {meta.name: call for meta, call in backends()["fake"].tools()}
publish(metadata("careful", "", {"type": "object"}, {}), careful)
for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

#[tokio::test]
async fn the_rounds_of_a_call_are_known_by_one_id_with_its_session_and_address() {
    // Given a server that asks, and a script that asks,
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "ask,echo"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section("audit: { file: logs/audit.jsonl }");
    let proxy = Proxy::new(&config).file("policy.star", ASKING).http().await;
    let mut client = proxy.client();
    // when a stateless client calls both and answers with a second request,
    for tool in ["ask", "careful"] {
        let (call, form) = (json!({"name": tool, "arguments": {}}), r#"{"elicitation":{"form":{}}}"#);
        let asked = client.modern_with("tools/call", &call.to_string(), form).await.value();
        client.modern_with("tools/call", &accepted(&call, &asked).to_string(), form).await.result();
    }
    // and a client with a session calls a tool,
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
    let session = client.session().expect("it has one").to_owned();
    // then the two rounds of each call have one id, and the last one has what the server was asked for.
    let lines = lines_until(&proxy.world, "audit.jsonl", &proxy.program.stderr, |lines| calls(lines) >= 5).await;
    let lines: Vec<&Value> = lines.iter().filter(|line| line["type"] == "mcp_tool_call").collect();
    for rounds in lines[..4].chunks(2) {
        let [first, last] = rounds else { panic!("{rounds:?}") };
        assert_eq!((&first["outcome"], &last["outcome"]), (&json!("asked"), &json!("success")), "{first} {last}");
        assert!(first["call"].is_string() && first["call"] == last["call"], "{first} {last}");
        assert_eq!((&last["calls"][0]["server"], &last["source"]["value"]), (&json!("fake"), &json!("127.0.0.1")));
    }
    assert_ne!(lines[0]["call"], lines[2]["call"]);
    let of_session = lines[4];
    assert_eq!(of_session["call"], Value::Null);
    let digest = of_session["subject"]["session"].as_str().unwrap_or_else(|| panic!("{of_session}"));
    assert!(!digest.is_empty() && !of_session.to_string().contains(&session), "the id itself would open the session");
}

#[tokio::test]
async fn what_is_called_at_the_prompt_is_in_the_log() {
    let world = world("results: none");
    let lines = "1 + 1\nbackends()['fake'].tools()[0][1]({'text': 'hello'})\n";
    let (mut program, mut stdin, _stdout) = Program::start(world.command(["repl"]));
    stdin.write_all(lines.as_bytes()).await.expect("the prompt reads");
    drop(stdin);
    assert_eq!(program.exit().await.code(), Some(0));
    // Nobody waits for the surface, which the prompt does not need.
    let lines = parsed(&text(&world, "audit.jsonl"));
    let lines: Vec<&Value> = lines.iter().filter(|line| line["type"] != "surface").collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["log_opened", "operator_repl", "seal"]);
    assert_eq!((&lines[1]["calls"][0]["name"], &lines[1]["source"]["type"]), (&json!("echo"), &json!("control")));
    assert!(lines[1]["source"]["value"].as_str().is_some_and(|user| user.starts_with("uid ")), "{}", lines[1]);
}

/// Asks before it calls, and a server that asks by itself.
const GATE: &str = r#"
load("@proxy//lib@1.star", "with_approval")
for meta, call in backends()["fake"].tools():
    if meta.name == "echo":
        publish(metadata("gated", "", {"type": "object"}, {}), with_approval(call, "Really?"))
    else:
        publish(meta, call)
"#;

#[tokio::test]
async fn questions_and_answers_are_lines_with_the_id_of_their_call_and_a_declined_gate_is_denied() {
    for modern in [true, false] {
        let config = Config::new()
            .server("fake", &fake_backend(["--only", "echo,ask"]))
            .section("sessionInit: { scriptFile: gate.star }")
            .section("audit: { file: logs/audit.jsonl, arguments: full }");
        let proxy = Proxy::new(&config).file("gate.star", GATE);
        let mut client = crate::elicitation::Client::at(proxy, modern, crate::elicitation::EVERYTHING).await;
        client.converse("gated", json!({"text": "a"}), json!({"action": "decline"})).await;
        client.converse("gated", json!({"text": "a"}), json!({"action": "accept", "content": {}})).await;
        client.converse("ask", json!({}), json!({"action": "accept", "content": {"colour": "red"}})).await;
        client.proxy.client.finish().await;
        let lines = parsed(&text(&client.proxy.world, "audit.jsonl"));
        let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<&Value>>();
        let (questions, answers) = (of("elicitation"), of("answer"));
        let messages: Vec<_> = questions.iter().map(|line| line["message"]["value"].as_str().unwrap_or("")).collect();
        assert_eq!((messages[0], messages[1]), ("Really?", "Really?"), "{questions:?}");
        let actions: Vec<_> = answers.iter().map(|line| line["action"].as_str().unwrap_or("")).collect();
        assert_eq!(actions, ["decline", "accept", "accept"], "{answers:?}");
        assert_eq!((questions.len(), &answers[2]["content"]["value"]["colour"]), (3, &json!("red")));
        let ended: Vec<&Value> = of("mcp_tool_call").into_iter().filter(|line| line["outcome"] != "asked").collect();
        for (call, (question, answer)) in ended.iter().zip(questions.iter().zip(&answers)) {
            let id = call.get("call").unwrap_or(&call["id"]);
            assert_eq!((&question["call"], &answer["call"]), (id, id), "{call} {question} {answer}");
        }
        let outcomes: Vec<_> = ended.iter().map(|line| line["outcome"].as_str().unwrap_or("")).collect();
        assert_eq!(outcomes, ["denied", "success", "success"]);
        assert_eq!(ended[0]["policy"]["by"], "declined");
    }
}

#[tokio::test]
async fn hidden_characters_are_escapes_in_the_file() {
    let mut proxy = world("arguments: full").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.call("echo", "{\"text\":\"a\u{202e}b\u{200b}\"}").await.result();
    proxy.client.finish().await;
    let written = text(&proxy.world, "audit.jsonl");
    assert!(written.contains(r#""a\u202eb\u200b""#) && !written.contains('\u{202e}'), "{written}");
    assert_eq!(parsed(&written)[2]["arguments"]["value"]["text"], "a\u{202e}b\u{200b}");
}
