//! What was allowed when a call began must still be allowed when it goes on.

use serde_json::{Value, json};

use super::{CEDAR, TOKENS, holder};
use crate::elicitation::accepted;
use crate::support::config::Config;
use crate::support::message;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const ALL: &str = "permit(principal, action, resource);";
const FORM: &str = r#"{"elicitation":{"form":{}}}"#;

/// Asks before it does anything, in a handler and in front of a server's tool.
const SCRIPT: &str = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}

def careful(args):
    elicit("Sure?", when_unavailable = "error")
    return "done"

def on_request(request):
    if request.name == "echo":
        elicit("Really?", when_unavailable = "error")

publish(metadata("careful", "", {"type": "object"}, {}), careful)
for meta, call in tools.values():
    publish(meta, call)
"#;

fn world() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "ask,echo,pid"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(TOKENS)
        .section(CEDAR);
    Proxy::new(&config).file("policies/a.cedar", ALL).file("policy.star", SCRIPT)
}

fn forbidding(tool: &str) -> String {
    format!(
        "{ALL} forbid(principal, action, resource) when {{ resource == Tool::\"{tool}\" || resource == Tool::\"pid\" }};"
    )
}

/// Forbids a tool, and waits until that holds.
async fn forbid(proxy: &HttpProxy, tool: &str) {
    proxy.world.directory.write("policies/a.cedar", &forbidding(tool));
    let mut client = holder(proxy, "secret-token-of-a");
    let hidden = async { while client.modern("tools/list", "{}").await.tool_names().contains(&"pid".to_owned()) {} };
    within("the new policy", &proxy.program.stderr, hidden).await;
}

#[tokio::test]
async fn an_answer_does_not_carry_on_a_call_that_was_forbidden_meanwhile() {
    // A server asks; the script asks; `on_request` asks in front of a server's tool.
    for tool in ["ask", "careful", "echo"] {
        let proxy = world().http().await;
        let mut client = holder(&proxy, "secret-token-of-a");
        let call = json!({"name": tool, "arguments": {}});
        let asked: Value = client.modern_with("tools/call", &call.to_string(), FORM).await.value();
        forbid(&proxy, tool).await;
        let answer = client.modern_with("tools/call", &accepted(&call, &asked).to_string(), FORM).await;
        assert_eq!(answer.error_code(), -32602, "{tool}: {}", answer.raw);
    }
}

#[tokio::test]
async fn a_session_s_call_that_waits_for_an_answer_is_decided_again() {
    for tool in ["careful", "echo"] {
        let mut proxy = world().stdio();
        let client = &mut proxy.client;
        client.initialize_with("2025-11-25", FORM).await.result();
        let call = client.begin("tools/call", &json!({"name": tool, "arguments": {}}).to_string()).await;
        let question = client.expect_notification("elicitation/create").await.id().expect("a request has an id");
        proxy.world.directory.write("policies/a.cedar", &forbidding(tool));
        client.tools_until(|names| !names.contains(&"pid".to_owned())).await;
        client.send(&message::result(&question, r#"{"action":"accept","content":{}}"#)).await;
        let answer = client.response(&call).await;
        assert_eq!(answer.error_code(), -32602, "{tool}: {}", answer.raw);
    }
}
