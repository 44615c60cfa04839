//! Policies about arguments: the item is listed, and each use is decided.

use serde_json::json;

use super::{ann, bob, is_error, started, world};

#[tokio::test]
async fn a_tool_is_listed_and_its_arguments_decide() {
    let policies = r#"
permit(principal, action, resource == Tool::"echo") when { context.arguments.n <= 5 && context.arguments.where.city == "Rome" };
@message("ask ops for prod")
forbid(principal, action, resource == Tool::"echo") when { resource.arg_env == "prod" };
permit(principal, action, resource == Tool::"secret") when { context.arg_key == "k" };
forbid(principal, action, resource == Tool::"secret");
"#;
    let mut proxy = started(world(&["--only", "echo,secret"], "", policies)).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["echo"]);
    let with = |n: serde_json::Value, env: &str| json!({"n": n, "where": {"city": "Rome"}, "env": env}).to_string();
    let allowed = proxy.client.call("echo", &with(json!(5), "test")).await;
    assert!(!is_error(&allowed), "{}", allowed.raw);
    for (arguments, text) in [
        (with(json!(6), "test"), "`echo` is not permitted with these arguments"),
        (with(json!(5), "prod"), "`echo` is not permitted with these arguments: ask ops for prod"),
        // The forbid cannot be evaluated without `env`, so it denies.
        ("{}".to_owned(), "`echo` is not permitted with these arguments: ask ops for prod"),
        (
            r#"{"n":1e400,"where":{"city":"Rome"},"env":"test"}"#.to_owned(),
            "`echo` is not permitted with these arguments",
        ),
        (
            r#"{"n":null,"where":{"city":"Rome"},"env":"test"}"#.to_owned(),
            "`echo` is not permitted with these arguments",
        ),
    ] {
        let refused = proxy.client.call("echo", &arguments).await;
        assert!(is_error(&refused), "{arguments}: {}", refused.raw);
        assert_eq!(refused.text(), text, "{arguments}");
    }
    // A key that is there twice is read by nobody.
    let twice = proxy.client.call("echo", r#"{"n":5,"n":9,"where":{"city":"Rome"},"env":"test"}"#).await;
    assert_eq!(twice.error_code(), -32602);
    // The message of what is not listed is not shown either.
    assert_eq!(proxy.client.call("secret", r#"{"key":"k"}"#).await.error_code(), -32602);
}

#[tokio::test]
async fn claims_groups_and_clients_are_known() {
    let policies = r#"
permit(principal in THVGroup::"ops", action, resource == Tool::"echo") when { principal.claims.level > 2 };
permit(principal == Client::"bob", action, resource == Tool::"pid") when { context.client.name == "test-client" };
"#;
    let proxy = world(&["--only", "echo,pid"], "", policies).http().await;
    assert_eq!(ann(&proxy).await.request("tools/list", "{}").await.tool_names(), ["echo"]);
    let mut named = super::holder(&proxy, "secret-token-of-b");
    named.initialize_as("2025-11-25", "test-client").await.result();
    assert_eq!(named.request("tools/list", "{}").await.tool_names(), ["pid"]);
    let mut other = super::holder(&proxy, "secret-token-of-b");
    other.initialize_as("2025-11-25", "another").await.result();
    assert_eq!(other.request("tools/list", "{}").await.tool_names(), [""; 0]);
    assert_eq!(bob(&proxy).await.call("echo", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn a_forbid_that_fails_denies_and_is_logged_once() {
    let policies = r#"
permit(principal, action, resource);
forbid(principal, action, resource == Tool::"echo") when { principal.nothing.at_all };
permit(principal, action, resource) when { principal.nothing.either };
"#;
    let mut proxy = started(world(&["--only", "echo,pid"], "", policies)).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["pid"]);
    for _ in 0..3 {
        assert_eq!(proxy.client.call("echo", "{}").await.error_code(), -32602);
        proxy.client.call("pid", "{}").await.result();
    }
    let stderr = proxy.client.stderr();
    for policy in ["policies/a.cedar:3", "policies/a.cedar:4"] {
        stderr.line(policy).await;
        assert_eq!(stderr.text().matches(policy).count(), 1, "{}", stderr.text());
    }
}
