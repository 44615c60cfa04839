//! An extension that asks the person behind the client, in both eras.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{one_tool, started, world};
use crate::elicitation::{Client, EVERYTHING, text};
use crate::support::config::Config;
use crate::support::message;
use crate::support::proxy::Proxy;

const BRANCHES: &str = include_str!("../../extensions/branches.star");

fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "init.defaultBranch=main"];
    let output =
        Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().expect("there is git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// With a branch `old` that has a commit of its own.
fn repository(folder: &Path) {
    std::fs::create_dir_all(folder).expect("it can be made");
    git(folder, &["init", "--quiet"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    git(folder, &["checkout", "--quiet", "-b", "old"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", "only here"]);
    git(folder, &["checkout", "--quiet", "main"]);
}

#[tokio::test]
async fn the_example_deletes_only_what_somebody_agreed_to() {
    for modern in [false, true] {
        let mut client = Client::at(world(&[("branches.star", BRANCHES)]), modern, EVERYTHING).await;
        let folder = client.proxy.world.directory.path().join("repository");
        repository(&folder);
        let arguments = json!({"branch": "old", "folder": folder});
        let (asked, outcome) = client.converse("delete", arguments.clone(), json!({"action": "decline"})).await;
        let question = asked[0]["params"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(question.contains("1 commits are in no other branch") && question.contains("only here"), "{question}");
        assert_eq!(text(&outcome), "not deleted: nobody agreed", "modern {modern}");
        assert!(git(&folder, &["branch"]).contains("old"));
        let (asked, outcome) = client.converse("delete", arguments, json!({"action": "accept", "content": {}})).await;
        assert_eq!(asked.len(), 1, "modern {modern}");
        assert!(text(&outcome).contains("Deleted branch old"), "modern {modern}: {outcome}");
        assert!(!git(&folder, &["branch"]).contains("old"));
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_nothing_is_deleted() {
    let mut proxy = started(world(&[("branches.star", BRANCHES)])).await;
    let folder = proxy.world.directory.path().join("repository");
    repository(&folder);
    let told = proxy.fault("delete", json!({"branch": "old", "folder": folder})).await;
    assert_eq!(told, "not deleted: nobody agreed");
}

#[tokio::test]
async fn a_result_for_which_somebody_was_asked_is_not_cached() {
    let extension = r#"
def ask(params):
    action = elicit("Sure?", when_unavailable = "error").action
    return "%s, number %d" % (action, shared_state.incr("asked"))

def count(params):
    return "number %d" % shared_state.incr("counted")

cached_ask = cached(ask, 600)
cached_count = cached(count, 600)

def describe_extension():
    return Extension(name = "caching", version = "1", tools = [
        Tool(name = "ask", description = "", handler = lambda params: cached_ask(params)),
        Tool(name = "count", description = "", handler = lambda params: cached_count(params)),
    ])
"#;
    let accept = json!({"action": "accept", "content": {}});
    for modern in [false, true] {
        let mut client = Client::at(world(&[("caching.star", extension)]), modern, EVERYTHING).await;
        for number in 1..=2 {
            let (questions, outcome) = client.converse("ask", json!({}), accept.clone()).await;
            assert_eq!(questions.len(), 1, "modern {modern}, call {number}: {outcome}");
            assert_eq!(text(&outcome), format!("accept, number {number}"), "modern {modern}");
            // Without a question the result is cached.
            let (questions, outcome) = client.converse("count", json!({}), accept.clone()).await;
            assert_eq!((questions.len(), text(&outcome).as_str()), (0, "number 1"), "modern {modern}: {outcome}");
        }
    }
}

/// Progress of an extension, told to a client that answers its question, by a script with this handler around it.
async fn progress_behind(handler: &str) -> Vec<Value> {
    let extension = one_tool(
        "progress(1, 2, \"first\")\nelicit(\"Sure?\", when_unavailable = \"accept\")\nprogress(2, 2)\nreturn \"done\"",
        "",
    );
    let script = format!(
        "
calls = {{meta.name: call for meta, call in backends()['one'].tools()}}

def handler(args):
    run = calls['run']
{handler}

publish(metadata('wrapped', '', {{}}, {{}}), handler)
"
    );
    let config =
        Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", &script);
    proxy.directory.write("tools/one.star", &extension);
    let mut proxy = proxy.stdio();
    let client = &mut proxy.client;
    client.initialize_with("2025-11-25", r#"{"elicitation":{"form":{}}}"#).await.result();
    let params = json!({"name": "wrapped", "arguments": {}, "_meta": {"progressToken": "t"}});
    let call = client.begin("tools/call", &params.to_string()).await;
    let mut told = Vec::new();
    loop {
        let message = client.next().await;
        match message.id() {
            Some(id) if message.is_response() && id == call => break,
            Some(id) => client.send(&message::result(&id, r#"{"action":"accept","content":{}}"#)).await,
            None => told.push(message.value()["params"].clone()),
        }
    }
    told
}

#[tokio::test]
async fn progress_of_an_extension_passes_a_handler_before_and_after_a_question() {
    let first = json!({"progressToken": "t", "progress": 1.0, "total": 2.0, "message": "first"});
    let second = json!({"progressToken": "t", "progress": 2.0, "total": 2.0});
    assert_eq!(progress_behind("    return run({})").await, [first.clone(), second.clone()]);
    assert_eq!(progress_behind("    return run({}, relay = False)").await, Vec::<Value>::new());
    let twice = progress_behind("    run({})\n    return run({})").await;
    let third = json!({"progressToken": "t", "progress": 3, "message": "first"});
    assert_eq!(twice, [first, second, third, json!({"progressToken": "t", "progress": 4})]);
}
