//! Where operators see the profile of a call: policies, the audit log and traces.

use std::time::Duration;

use serde_json::Value;

use super::{RESEARCH, client, config, modern_tools, world};
use crate::support::otlp_receiver::{OtlpReceiver, attribute};
use crate::support::patience::within;

#[tokio::test]
async fn policies_decide_by_profile() {
    let cedar = "permit(principal, action, resource) when { context.profile == \"\" };\n\
                 permit(principal, action, resource == Tool::\"where\") when { context.profile == \"research\" };\n\
                 permit(principal, action, resource == Tool::\"crm_echo\") when { context.profile == \"sales\" };\n";
    let config = config(RESEARCH).section("cedar: { policies: [policies.cedar] }");
    let proxy = world(&config).file("policies.cedar", cedar).http().await;
    assert_eq!(modern_tools(&mut client(&proxy, "")).await.len(), 4);
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where"]);
    assert_eq!(modern_tools(&mut client(&proxy, "sales")).await, ["crm_echo"]);
    client(&proxy, "sales").modern_call("crm_echo", "{}").await.result();
    let denied = client(&proxy, "sales").modern_call("where", "{}").await;
    assert_eq!(denied.error_code(), -32602, "{}", denied.raw);
    client(&proxy, "").modern_call("where", "{}").await.result();
}

#[tokio::test]
async fn the_span_of_a_call_names_its_profile() {
    let collector = OtlpReceiver::start().await;
    let config = config(RESEARCH)
        .section(&format!("telemetry: {{ otlp: {{ endpoint: '{}', sampler: always_on }} }}", collector.url));
    let proxy = world(&config).http().await;
    for path in ["research", ""] {
        client(&proxy, path).modern_call("where", "{}").await.result();
    }
    // Of each call, and of the handler within it.
    let spans = collector.spans(4, &proxy.program.stderr).await;
    let calls = spans.iter().filter(|span| span.name == "tools/call where");
    let mut profiles: Vec<Option<&str>> = calls.map(|span| attribute(&span.attributes, "mcp.proxy.profile")).collect();
    profiles.sort();
    assert_eq!(profiles, [None, Some("research")], "{spans:?}");
}

#[tokio::test]
async fn the_audit_log_names_the_profile_of_a_call() {
    let config = config(RESEARCH).section("audit: { file: audit.jsonl, key: 0123456789abcdef0123456789abcdef }");
    let proxy = world(&config).http().await;
    for path in ["research", ""] {
        client(&proxy, path).modern_call("where", "{}").await.result();
    }
    let file = proxy.world.directory.path().join("audit.jsonl");
    let calls = async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let lines = whole.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let calls: Vec<Value> = lines.filter(|line| line["type"] == "mcp_tool_call").collect();
            if calls.len() == 2 {
                return calls;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let calls = within("two lines of calls", &proxy.program.stderr, calls).await;
    assert_eq!(calls[0]["subject"]["profile"], "research", "{}", calls[0]);
    assert!(calls[1]["subject"].get("profile").is_none(), "{}", calls[1]);
}
