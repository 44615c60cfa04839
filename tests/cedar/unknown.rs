//! What is denied and what does not exist get the same answer.

use serde_json::json;

use super::{CEDAR, SECRETS, ann, bob, error_without, holder, is_error, started, world};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn everything() -> Proxy {
    let flags = ["--resources", "--prompts", "--completions", "3", "--only", "echo,secret,seen"];
    world(&flags, "", SECRETS)
}

#[tokio::test]
async fn lists_have_what_the_caller_may_use_and_only_this() {
    let proxy = everything().http().await;
    let (mut ann, mut bob) = (ann(&proxy).await, bob(&proxy).await);
    assert_eq!(ann.request("tools/list", "{}").await.tool_names(), ["echo", "secret", "seen"]);
    assert_eq!(bob.request("tools/list", "{}").await.tool_names(), ["echo", "seen"]);
    for (method, hidden) in [("resources/list", "memo://farewell"), ("prompts/list", "greet")] {
        assert!(ann.request(method, "{}").await.raw.contains(hidden), "{method}");
        assert!(!bob.request(method, "{}").await.raw.contains(hidden), "{method}");
    }
    // What is made for one is nobody else's to keep.
    let listed = holder(&proxy, "secret-token-of-b").modern("tools/list", "{}").await.value();
    assert_eq!(listed["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn a_denied_item_and_an_unknown_one_have_the_same_answer_in_both_eras() {
    let proxy = everything().http().await;
    let mut bob = bob(&proxy).await;
    let resource = |uri: &str| json!({ "uri": uri }).to_string();
    let completion = |name: &str| {
        json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "who", "value": ""}}).to_string()
    };
    for (method, denied, unknown, params) in [
        (
            "tools/call",
            "secret",
            "nothing",
            (|name| json!({"name": name, "arguments": {}}).to_string()) as fn(&str) -> _,
        ),
        ("prompts/get", "greet", "nothing", |name| json!({"name": name, "arguments": {"who": "x"}}).to_string()),
    ] {
        let [first, second] = [bob.request(method, &params(denied)).await, bob.request(method, &params(unknown)).await];
        assert_eq!(error_without(&first, denied), error_without(&second, unknown), "{method}");
        let mut modern = holder(&proxy, "secret-token-of-b");
        let [first, second] =
            [modern.modern(method, &params(denied)).await, modern.modern(method, &params(unknown)).await];
        assert_eq!(error_without(&first, denied), error_without(&second, unknown), "{method}");
    }
    let (denied, unknown) = ("memo://farewell", "other://nothing");
    for method in ["resources/read", "resources/subscribe"] {
        let [first, second] =
            [bob.request(method, &resource(denied)).await, bob.request(method, &resource(unknown)).await];
        assert_eq!(error_without(&first, denied), error_without(&second, unknown), "{method}");
    }
    let [first, second] = [
        bob.request("completion/complete", &completion("greet")).await,
        bob.request("completion/complete", &completion("nothing")).await,
    ];
    assert_eq!(error_without(&first, "greet"), error_without(&second, "nothing"));
    // The server was asked nothing of this.
    let seen = bob.call("seen", "{}").await.raw;
    assert!(!seen.contains("secret") && !seen.contains("farewell") && !seen.contains("\\\"greet\\\""), "{seen}");
}

#[tokio::test]
async fn a_template_is_decided_by_the_uri_that_is_read() {
    let policies = r#"
permit(principal, action == Action::"read_resource", resource == Resource::"memo://notes/open");
permit(principal, action == Action::"call_tool", resource);
"#;
    let mut proxy = started(world(&["--resources", "--only", "echo"], "", policies)).await;
    assert_eq!(
        proxy.client.request("resources/templates/list", "{}").await.value()["result"]["resourceTemplates"],
        json!([])
    );
    let open = proxy.client.request("resources/read", r#"{"uri":"memo://notes/open"}"#).await;
    assert!(open.raw.contains("the text of memo://notes/open"), "{}", open.raw);
    let [first, second] = [
        proxy.client.request("resources/read", r#"{"uri":"memo://notes/other"}"#).await,
        proxy.client.request("resources/read", r#"{"uri":"other://none"}"#).await,
    ];
    assert_eq!(error_without(&first, "memo://notes/other"), error_without(&second, "other://none"));
    let subscribed = proxy.client.request("resources/subscribe", r#"{"uri":"memo://notes/other"}"#).await;
    assert_eq!(error_without(&subscribed, "memo://notes/other"), error_without(&second, "other://none"));
}

#[tokio::test]
async fn methods_of_vendors_are_decided_by_their_names() {
    let policies = r#"permit(principal, action == Action::"call_method", resource == Method::"vendor/open");"#;
    let command = fake_backend(["--era", "legacy", "--vendor", "--only", "echo"]);
    let config = Config::new().server_with("fake", &command, json!({"methods": ["vendor/*"]})).section(CEDAR);
    let mut proxy = started(Proxy::new(&config).file("policies/a.cedar", policies)).await;
    proxy.client.request("tools/list", "{}").await.result();
    proxy.client.request("vendor/open", r#"{"a":1}"#).await.result();
    let [first, second] =
        [proxy.client.request("vendor/shut", "{}").await, proxy.client.request("nobody/shut", "{}").await];
    assert_eq!(error_without(&first, "vendor/shut"), error_without(&second, "nobody/shut"));
}

#[tokio::test]
async fn published_names_decide_and_servers_are_groups() {
    let script = r#"
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta.replace(name = backend.name + "_" + meta.name), call)
"#;
    let policies = r#"
permit(principal, action, resource in MCP::"one");
permit(principal, action, resource == Tool::"two_echo");
forbid(principal, action, resource == Tool::"one_secret") when { resource in MCP::"proxy" && resource.original == "secret" };
"#;
    let server = || fake_backend(["--only", "echo,secret"]);
    let config = Config::new()
        .server("one", &server())
        .server("two", &server())
        .section("sessionInit: { scriptFile: s.star }")
        .section(CEDAR);
    let mut proxy = started(Proxy::new(&config).file("s.star", script).file("policies/a.cedar", policies)).await;
    proxy.client.tools_until(|names| names == ["one_echo", "two_echo"]).await;
    proxy.client.call("two_echo", "{}").await.result();
    for name in ["one_secret", "two_secret", "secret"] {
        assert_eq!(proxy.client.call(name, "{}").await.error_code(), -32602, "{name}");
    }
}

#[tokio::test]
async fn the_local_user_is_decided_about_too() {
    let policies = r#"permit(principal, action, resource) when { principal.local && resource.name != "secret" };"#;
    let proxy = world(&["--only", "echo,secret"], "", policies);
    proxy.run(["call", "echo", "--live"]).await.expect(0);
    let refused = proxy.run(["call", "secret", "--live"]).await.expect(1);
    let unknown = proxy.run(["call", "nothing", "--live"]).await.expect(1);
    assert_eq!(refused.stderr.replace("secret", "nothing"), unknown.stderr);
    let listed = proxy.run(["list-tools"]).await.expect(0).stdout;
    assert!(listed.contains("echo") && !listed.contains("secret"), "{listed}");
    // Somebody else may do nothing here.
    proxy.run(["call", "echo", "--as-user", "ann", "--live"]).await.expect(1);
    let mut proxy = started(proxy).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    assert!(!is_error(&proxy.client.call("echo", "{}").await));
    assert_eq!(proxy.client.call("secret", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn a_refusal_is_audited_with_the_policies_and_without_arguments() {
    let audit = "audit: { file: audit.jsonl }";
    let proxy = world(&["--only", "echo,secret"], audit, SECRETS).http().await;
    bob(&proxy).await.call("secret", r#"{"password":"hunter2"}"#).await;
    let file = proxy.world.directory.path().join("audit.jsonl");
    drop(proxy.client());
    let mut program = proxy.program;
    program.terminate();
    program.exit().await;
    let text = std::fs::read_to_string(file).expect("an audit log");
    let line = text.lines().find(|line| line.contains("\"by\":\"policy\"")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("policies/a.cedar:4") && line.contains("\"denied\""), "{line}");
    assert!(!line.contains("hunter2"), "{line}");
}
