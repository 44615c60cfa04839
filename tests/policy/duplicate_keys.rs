//! A key that occurs twice means one thing to the policy and another to the server. Where anything reads the arguments, it is
//! refused; otherwise they are passed on byte for byte.

use serde_json::json;

use super::serving;
use crate::elicitation::{Client, EVERYTHING, one_server};
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::message;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::programs::fake_backend;

const TOOL: &str = r#"{"name":"send","inputSchema":{"type":"object","properties":{"to":{}}}}"#;

/// Arguments with a duplicate, and its path.
const AMBIGUOUS: [(&str, &str); 4] = [
    (r#"{"to":"EVIL","to":"a"}"#, "`to`"),
    (r#"{"path":"/etc","p\u0061th":"/tmp"}"#, "`path`"),
    (r#"{"to":[{"deep":{"x":1,"x":2}}]}"#, "`to.0.deep.x`"),
    (r#"{"a":{"to":1},"b":[1,{"to":1,"c":{},"to":2}]}"#, "`b.1.to`"),
];
const PUBLISH: &str = "meta, call = backends()[\"fake\"].tools()[0]\nhandler = call\n";

#[tokio::test]
async fn a_duplicate_is_refused_where_a_hook_a_handler_or_a_schema_reads_the_arguments() {
    for script in [
        "publish(meta, handler)\ndef on_request(request):\n    pass\n",
        "publish(meta, lambda args: handler(args))\n",
        "publish(meta.replace(parameters = {\"type\": \"object\", \"properties\": {\"to\": {}, \"x\": {}}}), handler)\n",
    ] {
        let mut proxy = serving(&[TOOL], &format!("{PUBLISH}{script}")).await;
        for (arguments, path) in AMBIGUOUS {
            for refused in
                [proxy.client.call("send", arguments).await, proxy.client.modern_call("send", arguments).await]
            {
                assert_eq!(refused.error_code(), -32602, "{script} {arguments}: {}", refused.raw);
                assert!(refused.error_message().contains(path), "{script} {arguments}: {}", refused.raw);
            }
        }
        let good = r#"{"to":{"x":1},"also":{"x":1}}"#;
        assert_eq!(proxy.client.call("send", good).await.structured(), good, "{script}");
    }
}

#[tokio::test]
async fn a_duplicate_of_a_prompt_is_refused_where_a_hook_reads_it() {
    let backend = fake_backend(["--prompts", "--only", "echo"]);
    let config = Config::new().server("fake", &backend).section("sessionInit: { scriptFile: policy.star }");
    let mut proxy =
        Proxy::new(&config).file("policy.star", "passthrough()\ndef on_request(request):\n    pass\n").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let params = r#"{"name":"greet","arguments":{"who":"EVIL","who":"ann"}}"#;
    assert_eq!(proxy.client.request("prompts/get", params).await.error_code(), -32602);
}

#[tokio::test]
async fn a_duplicate_reaches_a_server_untouched_if_nothing_else_reads_it() {
    let mut proxy = serving(&[TOOL], &format!("{PUBLISH}publish(meta, handler)\n")).await;
    for (arguments, _) in AMBIGUOUS {
        assert_eq!(proxy.client.call("send", arguments).await.structured(), arguments);
        assert_eq!(proxy.client.modern_call("send", arguments).await.structured(), arguments);
    }
}

#[tokio::test]
async fn a_duplicate_is_refused_where_arguments_are_sent_as_headers() {
    let config = Config::new().server("fake", &fake_backend(["--only", "region_tool"]));
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let arguments = r#"{"region":"north","options":{"note":1,"note":2}}"#;
    let refused = proxy.client.call("region_tool", arguments).await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.raw);
    assert!(refused.error_message().contains("`options.note`"), "{}", refused.raw);
}

#[tokio::test]
async fn a_ticket_is_not_accepted_with_other_arguments_of_the_same_digest() {
    let mut client = Client::of(&one_server("modern", json!({})), true, EVERYTHING).await;
    let call = json!({"name": "ask", "arguments": {"message": "?", "rounds": 1}});
    let first = client.modern_call(&call).await.value();
    let state = first["result"]["requestState"].to_string();
    let asked = first["result"]["inputRequests"].as_object().expect("questions");
    let answers: serde_json::Map<_, _> =
        asked.keys().map(|key| (key.clone(), json!({"action": "accept", "content": {"colour": "blue"}}))).collect();
    let answers = serde_json::Value::Object(answers);
    let meta = format!("{{{}}}", meta_members(VERSION, EVERYTHING));
    for (arguments, accepted) in [
        (r#"{"message":"EVIL","message":"?","rounds":1}"#, false),
        (r#"{"message":"EVIL","mess\u0061ge":"?","rounds":1}"#, false),
        (r#"{"message":"?","rounds":1}"#, true),
    ] {
        let params = message::call("ask", arguments);
        let params = format!(
            r#"{},"requestState":{state},"inputResponses":{answers}}}"#,
            params.strip_suffix('}').expect("params are an object")
        );
        let answer = client.proxy.client.request("tools/call", &with_meta(&params, &meta)).await;
        if accepted {
            assert!(answer.result().contains("blue"), "{}", answer.raw);
        } else {
            assert_eq!(answer.error_code(), -32602, "{}", answer.raw);
            assert!(answer.error_message().contains("`message`"), "{}", answer.raw);
        }
    }
}
