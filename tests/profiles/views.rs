//! What the clients of a profile see: some servers, another script, other settings, in both eras.

use serde_json::json;

use super::{RESEARCH, client, config, list, modern_tools, refusal, session, tools, world};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn each_path_shows_its_servers_in_both_eras_and_the_script_knows_which_it_is() {
    let proxy = world(&config(RESEARCH)).http().await;
    let everything = vec!["where", "papers_echo", "crm_echo", "crm_add_tool"];
    let research = vec!["where", "papers_echo"];
    let sales = vec!["where", "crm_echo", "crm_add_tool"];
    for (path, expected) in
        [("", everything), ("research", research), ("research/", vec!["where", "papers_echo"]), ("sales", sales)]
    {
        assert_eq!(modern_tools(&mut client(&proxy, path)).await, expected, "{path}");
        assert_eq!(tools(&mut session(&proxy, path).await).await, expected, "{path}");
    }
    for (path, servers) in [("research", vec!["papers"]), ("sales", vec!["crm"]), ("", vec!["crm", "papers"])] {
        let said = client(&proxy, path).modern_call("where", "{}").await.structured();
        let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(said, json!({"top": path, "call": path, "servers": servers}));
    }
    // What another view publishes does not exist here.
    let refused = client(&proxy, "research").modern_call("crm_echo", "{}").await;
    let unknown = client(&proxy, "research").modern_call("crm_nonsense", "{}").await;
    assert_eq!(refused.error_message().replace("crm_echo", "X"), unknown.error_message().replace("crm_nonsense", "X"));
    let called = session(&proxy, "research").await.call("papers_echo", r#"{"n":1.10}"#).await;
    assert_eq!(called.structured(), r#"{"n":1.10}"#);
}

#[tokio::test]
async fn a_path_without_a_profile_is_not_found_before_anything_else() {
    let config = config(RESEARCH).section("auth: {tokens: [{token: s3cret-token-of-ann, sub: ann}]}");
    let proxy = world(&config).http().await;
    // No token: an unknown profile is unknown to everybody.
    let (status, message) = refusal(client(&proxy, "reserch").send(&list()).await).await;
    assert_eq!((status, message.as_str()), (404, "no profile `reserch`"));
    assert_eq!(client(&proxy, "research").send(&list()).await.status, 401);
    for path in ["connect", "RESEARCH", "research/x", "%72esearch", "research//", "a%00"] {
        let reply = client(&proxy, path).send(&list()).await;
        assert_eq!(reply.status, 404, "{path}");
        let text = reply.text().await;
        assert!(text.is_empty() || text.contains("no profile `connect`"), "{path}: {text}");
    }
    for request in [HttpRequest::get(), HttpRequest::delete(), HttpRequest::post("{}")] {
        assert_eq!(client(&proxy, "nobody").send(&request).await.status, 404, "{}", request.method);
    }
}

#[tokio::test]
async fn the_bare_path_can_be_closed() {
    let proxy = world(&config(RESEARCH).section("serve: { requireProfile: true }")).http().await;
    let (status, message) = refusal(client(&proxy, "").send(&list()).await).await;
    assert_eq!(
        (status, message.as_str()),
        (404, "this URL serves nothing itself: add the name of a profile to its path")
    );
    assert_eq!(client(&proxy, "").send(&HttpRequest::get()).await.status, 404);
    assert_eq!(modern_tools(&mut client(&proxy, "research")).await, ["where", "papers_echo"]);
}

#[tokio::test]
async fn a_profile_has_a_script_and_settings_of_its_own() {
    let profiles = "  names: { servers: ['*'], sessionInit: { script: \"publish(metadata('only', profile(), {}, {}), lambda args: 'x')\" } }\n  \
                    prefix: { servers: [papers], sessionInit: { preset: default }, aggregation: { conflictResolution: prefix, \
                    conflictResolutionConfig: { prefixFormat: 'a_{workload}_' } } }\n  \
                    found: { servers: ['*'], sessionInit: { preset: default }, optimizer: { enabled: true, listBelow: 0 } }";
    let proxy = world(&config(profiles)).http().await;
    assert_eq!(modern_tools(&mut client(&proxy, "names")).await, ["only"]);
    assert_eq!(modern_tools(&mut client(&proxy, "prefix")).await, ["a_papers_echo"]);
    assert_eq!(modern_tools(&mut client(&proxy, "found")).await, ["find_tool", "call_tool"]);
    assert_eq!(modern_tools(&mut client(&proxy, "")).await.len(), 4);
}

#[tokio::test]
async fn limits_of_a_profile_have_buckets_of_their_own() {
    let limit = |tokens: u8| format!("{{ perUser: {{ maxTokens: {tokens}, refillPeriod: 1h }} }}");
    let profiles = format!(
        "  own: {{ servers: ['*'], rateLimiting: {} }}\n  other: {{ servers: ['*'], rateLimiting: {} }}\n  shared: {{ servers: ['*'] }}",
        limit(1),
        limit(1)
    );
    let config = Config::new()
        .server("papers", &fake_backend(["--only", "echo"]))
        .section(&format!("profiles:\n{profiles}\nrateLimiting: {}", limit(1)));
    let proxy = Proxy::new(&config).http().await;
    let mut answers = Vec::new();
    for path in ["own", "own", "other", "", "shared"] {
        let answer = client(&proxy, path).modern_call("echo", "{}").await.value();
        answers.push(answer["result"]["isError"] == true);
    }
    // What a profile does not set, it shares with the top level.
    assert_eq!(answers, [false, true, false, false, true]);
}

#[tokio::test]
async fn a_method_of_a_server_that_a_profile_does_not_show_is_unknown() {
    let config = Config::new()
        .server_with("papers", &fake_backend(["--only", "echo"]), json!({}))
        .server_with("crm", &fake_backend(["--only", "echo"]), json!({"methods": ["crm/*"]}))
        .section(&format!("profiles:\n{RESEARCH}"));
    let proxy = Proxy::new(&config).http().await;
    let shown = client(&proxy, "sales").modern("crm/anything", "{}").await;
    let hidden = client(&proxy, "research").modern("crm/anything", "{}").await;
    let nobodys = client(&proxy, "research").modern("nobody/has", "{}").await;
    assert_eq!(hidden.error_message(), nobodys.error_message().replace("nobody/has", "crm/anything"));
    assert_ne!(shown.raw.replace("crm/anything", ""), hidden.raw.replace("crm/anything", ""), "{}", shown.raw);
}
