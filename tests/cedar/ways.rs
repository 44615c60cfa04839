//! Every way that leads to a tool: none of them leads around the policies.

use serde_json::{Value, json};

use super::{SECRETS, ann, bob, is_error, started, world};
use crate::support::http_client::HttpClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;

/// Tools with descriptions, of which bob may not use those called secret.
fn searchable(sections: &str) -> Proxy {
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}});
    let tools = json!([
        tool("secret_ticket", "Opens a ticket in the issue tracker."),
        tool("secret_tickets", "Opens many tickets in the issue tracker."),
        tool("create_ticket", "Opens a new ticket in the issue tracker."),
        tool("sendEmail", "Sends an electronic message to a person."),
    ]);
    let proxy = Proxy::with_config_text("");
    let file = proxy.directory.write("tools.json", &tools.to_string());
    let made = world(&["--tools", file.to_str().expect("a path")], sections, SECRETS);
    let text = std::fs::read_to_string(made.directory.path().join("proxy.yaml")).expect("a config");
    proxy.directory.write("proxy.yaml", &text);
    proxy.file("policies/a.cedar", SECRETS)
}

async fn find(client: &mut HttpClient, words: &str) -> Value {
    let found = client.call("find_tool", &json!({"tool_description": words}).to_string()).await;
    serde_json::from_str(&found.structured()).expect("structured content")
}

fn names(found: &Value) -> Vec<&str> {
    found["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

async fn call_tool(client: &mut HttpClient, name: &str) -> crate::support::message::Message {
    client.call("call_tool", &json!({"tool_name": name, "parameters": {"n": 1}}).to_string()).await
}

#[tokio::test]
async fn find_tool_and_call_tool_know_only_what_the_caller_may_use() {
    let optimized =
        "sessionInit: { preset: optimizer@1 }\noptimizer: { maxToolsToReturn: 1, embedding: { provider: none } }";
    let proxy = searchable(optimized).http().await;
    let (mut ann, mut bob) = (ann(&proxy).await, bob(&proxy).await);
    let description =
        |list: crate::support::message::Message| list.value()["result"]["tools"][0]["description"].to_string();
    // Policies are not asked about the two themselves.
    let list = bob.request("tools/list", "{}").await;
    assert_eq!(list.tool_names(), ["find_tool", "describe_tool", "call_tool"]);
    assert!(description(list).contains("There are 2 tools, by server: fake (2)."));
    assert!(description(ann.request("tools/list", "{}").await).contains("There are 4 tools, by server: fake (4)."));
    // What bob may not know of takes no place of what he may.
    let (to_ann, to_bob) = (find(&mut ann, "open a ticket").await, find(&mut bob, "open a ticket").await);
    assert!(names(&to_ann)[0].starts_with("secret"), "{to_ann}");
    assert_eq!(names(&to_bob), ["create_ticket"]);
    let tokens = |found: &Value| found["token_metrics"]["baseline_tokens"].as_i64().unwrap_or_default();
    assert!(tokens(&to_bob) < tokens(&to_ann) && tokens(&to_bob) > 0, "{to_bob}");
    // Denied and unknown are told alike, with names that may be known.
    let (denied, unknown) = (call_tool(&mut bob, "secret_ticket").await, call_tool(&mut bob, "sekret_ticket").await);
    assert!(is_error(&denied) && is_error(&unknown), "{}", denied.raw);
    assert_eq!(denied.text().replace("secret_ticket", "sekret_ticket"), unknown.text());
    assert!(!unknown.text().replace("sekret_ticket", "").contains("secret"), "{}", unknown.text());
    // So it is when they are to be described.
    let names = json!({"tool_names": ["create_ticket", "secret_ticket", "sekret_ticket"]}).to_string();
    let described: Value = serde_json::from_str(&bob.call("describe_tool", &names).await.structured()).expect("JSON");
    assert_eq!(described["tools"].as_array().map(Vec::len), Some(1), "{described}");
    let told = |at: usize| described["errors"][at].to_string();
    assert_eq!(told(0).replace("secret_ticket", "sekret_ticket"), told(1));
    assert!(told(1).contains("create_ticket") && !told(1).contains("secret"), "{described}");
    let described = ann.call("describe_tool", &names).await.structured();
    assert!(described.contains("Opens a ticket") && described.contains("sekret_ticket"), "{described}");
    assert_eq!(call_tool(&mut bob, "create_ticket").await.structured(), r#"{"n":1}"#);
    assert_eq!(call_tool(&mut ann, "secret_ticket").await.structured(), r#"{"n":1}"#);
    // Both eras.
    let mut modern = super::holder(&proxy, "secret-token-of-b");
    let list = modern.modern("tools/list", "{}").await;
    assert!(description(list).contains("There are 2 tools"));
    let denied = modern.modern_call("call_tool", r#"{"tool_name":"secret_ticket","parameters":{}}"#).await;
    assert!(is_error(&denied), "{}", denied.raw);
    assert_eq!(modern.modern_call("secret_ticket", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn code_mode_has_only_the_tools_of_the_caller() {
    let proxy = searchable("sessionInit: { preset: code-mode }").http().await;
    let (mut ann, mut bob) = (ann(&proxy).await, bob(&proxy).await);
    let description = bob.request("tools/list", "{}").await.raw;
    assert!(description.contains("create_ticket(") && !description.contains("secret"), "{description}");
    assert!(ann.request("tools/list", "{}").await.raw.contains("secret_ticket("));
    let run = async |client: &mut HttpClient, script: &str| {
        let answer = client.call("execute_tool_script", &json!({ "script": script }).to_string()).await.value();
        answer["result"].clone()
    };
    let of_bob = run(&mut bob, "return [tool['name'] for tool in search_tools('open a ticket')]").await;
    assert_eq!(of_bob["structuredContent"]["result"], json!(["create_ticket"]), "{of_bob}");
    for script in [
        "return secret_ticket(n = 1)",
        "return call_tool('secret_ticket', {})",
        "return parallel([lambda: create_ticket(), lambda: call_tool('secret_ticket', {})])",
    ] {
        let refused = run(&mut bob, script).await;
        assert_eq!(refused["isError"], true, "{script}: {refused}");
        let allowed = run(&mut ann, script).await;
        assert_ne!(allowed["isError"], true, "{script}: {allowed}");
    }
    let denied = run(&mut bob, "return attempt(call_tool, 'secret_ticket', {}).error").await.to_string();
    assert!(denied.contains("there is no tool `secret_ticket`"), "{denied}");
    assert!(!denied.contains("secret_tickets"), "{denied}");
}

/// Handlers that reach the denied tool in every way a script has.
const WAYS: &str = r#"
tools = backends()["fake"].tools()
index = search_index(tools)
call = {meta.name: handler for meta, handler in tools}
anything = {"type": "object"}

def made(name, handler):
    publish(metadata(name, "Does it.", anything, {}), handler)

made("composite", lambda args: call["secret"](args))
made("remembered", cached(call["secret"], 60))
made("by_index", lambda args: index.call("secret", args))
made("found", lambda args: {"names": [hit["name"] for hit in index.search("returns its arguments")], "get": index.get("secret") != None})
made("script", lambda args: run_script("return call_tool('secret', {})", tools))
made("both", lambda args: {"results": parallel([lambda: call["secret"](args), lambda: call["echo"](args)])})
publish(metadata("narrow", "Does it.", anything, {}), lambda args: call["secret"](args))
for meta, handler in tools:
    if meta.name == "echo":
        publish(meta, handler)
"#;

#[tokio::test]
async fn nothing_that_a_script_does_goes_around_the_policies() {
    let policies = r#"
permit(principal, action, resource);
forbid(principal, action, resource == Tool::"secret")
unless { principal in THVGroup::"ops" || context.via == "narrow" };
"#;
    let sections = "sessionInit: { scriptFile: s.star }";
    let proxy = world(&["--only", "echo,secret,seen"], sections, policies).file("s.star", WAYS);
    let proxy = proxy.http().await;
    let (mut ann, mut bob) = (ann(&proxy).await, bob(&proxy).await);
    for name in ["composite", "remembered", "by_index", "script"] {
        let allowed = ann.call(name, r#"{"n":1}"#).await;
        assert!(!is_error(&allowed), "{name}: {}", allowed.raw);
        let refused = bob.call(name, r#"{"n":1}"#).await;
        assert!(is_error(&refused), "{name}: {}", refused.raw);
    }
    let both = bob.call("both", r#"{"n":1}"#).await.value();
    let results = &both["result"]["structuredContent"]["results"];
    assert_eq!((&results[0]["isError"], &results[1]["structuredContent"]), (&json!(true), &json!({"n": 1})), "{both}");
    let found = bob.call("found", "{}").await.structured();
    assert!(found.contains("echo") && !found.contains("secret") && found.contains("false"), "{found}");
    // One way is open, and exactly that one.
    assert_eq!(bob.call("narrow", r#"{"n":7}"#).await.structured(), r#"{"n":7}"#);
    assert_eq!(bob.call("secret", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn a_tool_that_is_not_published_is_known_by_its_server() {
    let script = r#"
call = {meta.name: handler for meta, handler in backends()["fake"].tools()}
for name in ["mine", "other"]:
    publish(metadata(name, "Does it.", {"type": "object"}, {}), lambda args: call["secret"](args))
"#;
    let policies = r#"
permit(principal, action, resource) when { resource.server == "" };
permit(principal, action == Action::"call_tool", resource == Tool::"fake/secret") when { context.via == "mine" };
"#;
    let proxy = world(&["--only", "secret"], "sessionInit: { scriptFile: s.star }", policies).file("s.star", script);
    let mut proxy = started(proxy).await;
    assert_eq!(proxy.client.call("mine", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    let refused = proxy.client.call("other", r#"{"n":1}"#).await;
    assert!(is_error(&refused), "{}", refused.raw);
    assert!(!refused.raw.contains("secret"), "{}", refused.raw);
}

#[tokio::test]
async fn a_link_and_a_user_interface_are_resources_like_others() {
    let policies = r#"
permit(principal, action == Action::"call_tool", resource) when { resource.name != "hidden" };
permit(principal, action, resource == Resource::"memo://open");
"#;
    let board = json!([
        {"name": "board", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://board"}}},
        {"name": "hidden", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://hidden"}}}
    ]);
    let script = r#"
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta if meta.name in ["raw", "hidden"] else meta.replace(name = "team_" + meta.name), call)
"#;
    let proxy = Proxy::with_config_text("");
    let file = proxy.directory.write("tools.json", &board.to_string());
    let flags = ["--tools", file.to_str().expect("a path"), "--builtin", "--only", "raw", "--resources"];
    let made = world(&flags, "sessionInit: { scriptFile: s.star }", policies).file("s.star", script);
    let mut proxy = started(made).await;
    let link = |uri: &str| {
        let block = json!({"type": "resource_link", "uri": uri, "name": "x"});
        json!({"result": {"content": [block]}}).to_string()
    };
    for uri in ["memo://open", "memo://shut"] {
        proxy.client.call("raw", &link(uri)).await.result();
    }
    let read = |uri: &str| json!({ "uri": uri }).to_string();
    let open = proxy.client.request("resources/read", &read("memo://open")).await;
    assert!(open.raw.contains("the text of memo://open"), "{}", open.raw);
    for uri in ["memo://shut", "ui://board", "ui://hidden"] {
        for method in ["resources/read", "resources/subscribe"] {
            let refused = proxy.client.request(method, &read(uri)).await;
            assert_eq!(refused.error_code(), -32002, "{method} {uri}: {}", refused.raw);
        }
    }
    // The name by which an interface calls a tool.
    proxy.client.call("board", "{}").await.result();
    assert_eq!(proxy.client.call("hidden", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn a_task_ends_with_the_right_to_its_tool() {
    let policies = "permit(principal, action, resource);";
    let proxy = world(&["--era", "legacy", "--tasks", "--only", "echo"], "", policies);
    let mut proxy = started(proxy).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let params = r#"{"name":"maybe","arguments":{},"task":{}}"#;
    let task = proxy.client.request("tools/call", params).await.value();
    let id = task["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    let get = json!({ "taskId": id }).to_string();
    proxy.client.request("tasks/get", &get).await.result();
    let without = r#"permit(principal, action, resource) unless { resource.name == "maybe" };"#;
    proxy.world.directory.write("policies/a.cedar", without);
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
        let refused = proxy.client.request(method, &get).await;
        assert_eq!(refused.error_message(), "unknown task", "{method}");
    }
}

#[tokio::test]
async fn pages_have_only_items_of_the_caller_and_a_cursor_of_a_lost_item_is_unknown() {
    let policies = r#"permit(principal, action, resource) unless { resource.name like "*7" };"#;
    let names: Vec<String> = (0..1210).map(|number| format!("tool{number}")).collect();
    let mut proxy = started(world(&["--only", &names.join(",")], "", policies)).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let first = proxy.client.request("tools/list", "{}").await;
    let cursor = first.value()["result"]["nextCursor"].clone();
    let second = proxy.client.request("tools/list", &json!({ "cursor": cursor }).to_string()).await;
    let all: Vec<String> = first.tool_names().into_iter().chain(second.tool_names()).collect();
    let expected: Vec<String> = names.iter().filter(|name| !name.ends_with('7')).cloned().collect();
    assert_eq!((first.tool_names().len(), all), (1000, expected));
}
