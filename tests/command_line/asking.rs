//! What tools and scripts ask in the middle of a call, asked on the terminal of whoever typed the command.

use serde_json::json;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::terminal::typed;

const SCRIPT: &str = r#"
FORM = {"type": "object", "properties": {
    "why": {"type": "string"},
    "count": {"type": "integer", "minimum": 1, "default": 2},
    "sure": {"type": "boolean"},
}, "required": ["why", "sure"]}

def order(args):
    answer = elicit("Order \x1b[2Jit?", FORM, when_unavailable = "reject")
    return {"action": answer.action, "content": answer.content}

publish(metadata("order", "", {}, {}), order)
for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

fn world(sections: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "ask"]))
        .section(sections)
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", SCRIPT)
}

#[tokio::test]
async fn call_asks_on_the_terminal_and_goes_on_with_the_answer() {
    let world = world("");
    let call = |keys: &'static str| typed(world.command(["call", "order", "--json"]), keys);
    let accepted = call("maybe\nyes\n\nbecause\n0\n\nn\n").await.expect(0);
    let content = json!({"why": "because", "count": 2, "sure": false});
    assert_eq!(accepted.json()["structuredContent"], json!({"action": "accept", "content": content}));
    for part in
        ["Order \\u{1b}[2Jit?\r\n", "why (text): ", "count (whole number) [2]: ", "`count`", "sure (yes or no): "]
    {
        assert!(accepted.stderr.contains(part), "{part} is not in\n{}", accepted.stderr);
    }
    let declined = call("n\n").await.expect(0);
    assert_eq!(declined.json()["structuredContent"]["action"], "decline");
    // Ctrl-D
    let cancelled = call("y\n\u{4}").await.expect(0);
    assert_eq!(cancelled.json()["structuredContent"]["action"], "cancel");
}

#[tokio::test]
async fn a_server_s_question_is_asked_there_too() {
    let called = typed(world("").command(["call", "ask", "message=Which?"]), "yes\nteal\n").await.expect(0);
    assert!(called.stdout.contains("teal"), "{}\n{}", called.stdout, called.stderr);
    assert!(called.stderr.contains("Which?"), "{}", called.stderr);
}

#[tokio::test]
async fn exec_asks_there_for_what_its_script_calls() {
    let world = world("").file("job.star", "return order()[\"content\"][\"why\"]\n");
    let done = typed(world.command(["exec", "job.star"]), "yes\nbecause\n\ny\n").await.expect(0);
    assert_eq!(done.stdout, "because\n", "{}", done.stderr);
}

#[tokio::test]
async fn without_a_terminal_nobody_is_asked() {
    let called = world("").run(["call", "order", "--json"]).await.expect(0);
    assert_eq!(called.json()["structuredContent"]["action"], "decline");
    assert!(!called.stderr.contains("it?"), "{}", called.stderr);
}
