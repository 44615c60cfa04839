//! Policies change while the proxy serves.

use serde_json::json;

use super::{ann, bob, is_error, started, world};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn a_new_policy_holds_at_once_and_only_those_concerned_are_told() {
    let policies = |hidden: &str| {
        format!(
            "permit(principal, action, resource);\nforbid(principal == Client::\"bob\", action, resource == Tool::\"{hidden}\");"
        )
    };
    let proxy = world(&["--only", "echo,pid"], "", &policies("echo")).http().await;
    let (mut ann, mut bob) = (ann(&proxy).await, bob(&proxy).await);
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["pid"]);
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "pid"]);
    let (mut to_ann, mut to_bob) = (ann.get_stream().await, bob.get_stream().await);
    proxy.world.directory.write("policies/a.cedar", &policies("pid"));
    assert_eq!(to_bob.next_message().await.and_then(|told| told.method()).as_deref(), Some(LIST_CHANGED));
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["echo"]);
    assert_eq!(bob.call("pid", "{}").await.error_code(), -32602);
    bob.call("echo", "{}").await.result();
    // The next thing that ann is told of is another change.
    proxy.world.directory.write("policies/b.cedar", "forbid(principal, action, resource == Tool::\"echo\");");
    assert_eq!(to_ann.next_message().await.and_then(|told| told.method()).as_deref(), Some(LIST_CHANGED));
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["pid"]);
}

#[tokio::test]
async fn a_bad_file_and_an_empty_one_leave_the_old_policies_in_force() {
    let mut proxy =
        started(world(&["--only", "echo,pid"], "", "permit(principal, action, resource == Tool::\"echo\");")).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    for (text, reason) in
        [("permit(principal, action", "invalid Cedar policy"), ("// nothing", "would deny everything")]
    {
        proxy.world.directory.write("policies/a.cedar", text);
        proxy.client.stderr().line(reason).await;
        assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["echo"]);
        proxy.client.call("echo", "{}").await.result();
    }
    proxy.world.directory.write("policies/a.cedar", "permit(principal, action, resource);");
    proxy.client.tools_until(|names| names == ["echo", "pid"]).await;
}

#[tokio::test]
async fn a_call_under_way_meets_the_new_policy_at_its_next_dispatch() {
    let script = r#"
call = {meta.name: handler for meta, handler in backends()["fake"].tools()}

def handler(args):
    call["seen"]({"wait_for": "go on"})
    return call["echo"]({"n": 1})

publish(metadata("long", "Waits.", {"type": "object"}, {}), handler)
for meta, handler in backends()["fake"].tools():
    publish(meta, handler)
"#;
    let all = "permit(principal, action, resource);";
    let proxy = world(&["--only", "seen,echo,pid"], "sessionInit: { scriptFile: s.star }", all).file("s.star", script);
    let mut proxy = started(proxy).await;
    let long = proxy.client.begin("tools/call", r#"{"name":"long","arguments":{}}"#).await;
    let without = format!("{all} forbid(principal, action, resource == Tool::\"echo\");");
    proxy.world.directory.write("policies/a.cedar", &without);
    proxy.client.expect_notification(LIST_CHANGED).await;
    proxy.client.call("pid", &json!({"x": "go on"}).to_string()).await.result();
    let answer = proxy.client.response(&long).await;
    assert!(is_error(&answer), "{}", answer.raw);
}

#[tokio::test]
async fn a_config_without_policies_does_not_replace_one_with_policies() {
    let mut proxy =
        started(world(&["--only", "echo"], "", "permit(principal, action, resource == Tool::\"none\");")).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), [""; 0]);
    let text = std::fs::read_to_string(proxy.world.directory.path().join("proxy.yaml")).expect("a config");
    proxy.world.directory.write("proxy.yaml", &text.replace(super::CEDAR, ""));
    proxy.client.stderr().line("would let everybody use everything").await;
    assert_eq!(proxy.client.call("echo", "{}").await.error_code(), -32602);
}
