//! A script's `on_other_request` sees what is no tool, prompt or resource: completions, subscriptions, tasks and the methods
//! of vendors. It lets them through or refuses them, and nothing else.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::tasks::EXTENSION;

/// Notes what it is asked, and refuses what is called `closed`. The hook for items notes what it is asked, too.
const POLICY: &str = r#"
def on_request(request):
    print("item %s %s" % (request.method, request.name))

def on_other_request(request):
    print("asked %s %s %s" % (request.method, request.name, json.encode(request.arguments)))
    if "closed" in json.encode([request.name, request.arguments]):
        fail("closed today", data = {"until": "monday"})

passthrough()
for meta, call in backends()["fake"].tools():
    publish(meta, call)
# Something of its own: a session that only mirrors one server would know every URI.
publish(metadata("own", "", {}, {}), lambda args: None)
"#;

fn world(script: &str, flags: &[&str]) -> Proxy {
    let backend =
        fake_backend(["--resources", "--prompts", "--completions", "3", "--vendor"].iter().chain(flags).copied());
    let config = Config::new()
        .server_with("fake", &backend, json!({"methods": ["vendor/*"]}))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

async fn serving(script: &str, flags: &[&str]) -> StdioProxy {
    let mut proxy = world(script, flags).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// What the hook was asked, once it was asked `last`.
async fn asked(proxy: &StdioProxy, last: &str) -> Vec<String> {
    proxy.client.stderr().line(last).await;
    let log = proxy.client.stderr().text();
    let line = |line: &str| Some(line.split_once("asked ")?.1.split(" tool=").next()?.to_owned());
    log.lines().filter_map(line).collect()
}

fn completion(name: &str, typed: &str) -> String {
    json!({
        "ref": {"type": "ref/prompt", "name": name},
        "argument": {"name": "who", "value": typed},
        "context": {"arguments": {"greeting": "hello"}},
    })
    .to_string()
}

#[tokio::test]
async fn completions_subscriptions_and_vendor_methods_are_asked_for_first() {
    let mut proxy = serving(POLICY, &[]).await;
    let client = &mut proxy.client;
    client.request("completion/complete", &completion("greet", "a")).await.result();
    let template =
        r#"{"ref":{"type":"ref/resource","uri":"memo://notes/{name}"},"argument":{"name":"name","value":"n"}}"#;
    client.request("completion/complete", template).await.result();
    client.request("resources/subscribe", r#"{"uri":"memo://greeting"}"#).await.result();
    client.request("resources/unsubscribe", r#"{"uri":"memo://greeting"}"#).await.result();
    client.request("vendor/find", r#"{"q":[1,2]}"#).await.result();
    client.call("echo", "{}").await.result();
    let log = asked(&proxy, "item tools/call echo").await;
    assert_eq!(
        log,
        [
            r#"completion/complete greet {"argument":"who","value":"a","context":{"greeting":"hello"}}"#,
            r#"completion/complete memo://notes/{name} {"argument":"name","value":"n","context":{}}"#,
            r#"resources/subscribe memo://greeting {"uri":"memo://greeting"}"#,
            r#"vendor/find vendor/find {"q":[1,2]}"#,
        ]
    );
    // Neither hook sees what the other is for.
    assert_eq!(proxy.client.stderr().text().matches("item ").count(), 1);
}

#[tokio::test]
async fn a_refusal_is_an_error_with_its_data_and_reaches_no_server() {
    let mut proxy = serving(POLICY, &[]).await;
    for (method, params) in [
        ("completion/complete", completion("greet", "closed")),
        ("resources/subscribe", r#"{"uri":"memo://notes/closed"}"#.to_owned()),
        ("vendor/closed", "{}".to_owned()),
    ] {
        for refused in [proxy.client.request(method, &params).await, proxy.client.modern(method, &params).await] {
            if method == "resources/subscribe" && refused.error_code() == -32601 {
                continue; // The stateless era has no such method.
            }
            let error = &refused.value()["error"];
            assert_eq!((&error["code"], &error["data"]), (&json!(-32603), &json!({"until": "monday"})), "{error}");
            let text = error["message"].as_str().unwrap_or_default().to_owned();
            assert!(text.starts_with("closed today (policy.star:"), "{text}");
        }
    }
    let seen = proxy.client.call("seen", "{}").await.structured();
    assert!(!seen.contains("closed"), "{seen}");
}

#[tokio::test]
async fn what_is_unknown_is_unknown_whatever_the_script_says() {
    let mut proxy = serving(POLICY, &[]).await;
    let client = &mut proxy.client;
    for (method, params, code) in [
        ("completion/complete", completion("closed", "a"), -32602),
        ("resources/subscribe", r#"{"uri":"other://closed"}"#.to_owned(), -32002),
        ("other/closed", "{}".to_owned(), -32601),
        ("tasks/get", r#"{"taskId":"closed"}"#.to_owned(), -32601),
    ] {
        assert_eq!(client.request(method, &params).await.error_code(), code, "{method}");
    }
    client.call("echo", "{}").await.result();
    assert_eq!(asked(&proxy, "item tools/call echo").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_listener_gets_what_is_not_refused() {
    let mut proxy = world(POLICY, &[]).stdio();
    let uris = json!(["memo://greeting", "memo://notes/closed", "memo://farewell"]);
    let params = json!({"notifications": {"resourceSubscriptions": uris}}).to_string();
    let meta = format!("{{{}}}", meta_members(VERSION, "{}"));
    proxy.client.begin("subscriptions/listen", &with_meta(&params, &meta)).await;
    let told = proxy.client.expect_notification("notifications/subscriptions/acknowledged").await.value();
    let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!(["memo://greeting", "memo://farewell"]), "{told}");
    let mut log = asked(&proxy, "memo://farewell").await;
    log.sort();
    assert_eq!(
        log,
        [
            r#"subscriptions/listen memo://farewell {"uri":"memo://farewell"}"#,
            r#"subscriptions/listen memo://greeting {"uri":"memo://greeting"}"#,
            r#"subscriptions/listen memo://notes/closed {"uri":"memo://notes/closed"}"#,
        ]
    );
}

#[tokio::test]
async fn a_task_goes_by_the_published_name_of_its_tool() {
    let renamed = r#"
def on_other_request(request):
    print("asked %s %s %s" % (request.method, request.name, len(request.arguments["task_id"]) > 20))
    if request.method == "tasks/cancel":
        fail("tasks run to their end")
for meta, call in backends()["fake"].tools():
    publish(meta.replace(name = "our_" + meta.name), call)
"#;
    for (era, modern) in [("legacy", false), ("modern", true)] {
        let mut proxy = world(renamed, &["--era", era, "--tasks"]).stdio();
        let client = &mut proxy.client;
        if !modern {
            client.initialize("2025-11-25").await.result();
        }
        let with = |params: Value| {
            let meta = format!("{{{}}}", meta_members(VERSION, EXTENSION));
            if modern { with_meta(&params.to_string(), &meta) } else { params.to_string() }
        };
        let call = if modern {
            json!({"name": "our_job", "arguments": {}})
        } else {
            json!({"name": "our_job", "arguments": {}, "task": {}})
        };
        let begun = client.request("tools/call", &with(call)).await.value();
        let id = if modern { &begun["result"]["taskId"] } else { &begun["result"]["task"]["taskId"] };
        assert!(id.is_string(), "{era}: {begun}");
        let shown = client.request("tasks/get", &with(json!({"taskId": id}))).await.value();
        assert_eq!(shown["result"]["taskId"], *id, "{era}: {shown}");
        let refused = client.request("tasks/cancel", &with(json!({"taskId": id}))).await;
        assert!(refused.error_message().starts_with("tasks run to their end"), "{era}: {}", refused.raw);
        assert_eq!(
            asked(&proxy, "asked tasks/cancel").await,
            ["tasks/get our_job True", "tasks/cancel our_job True"],
            "{era}"
        );
    }
}

#[tokio::test]
async fn it_can_neither_answer_nor_ask() {
    let script = r#"
def on_other_request(request):
    if request.name == "vendor/answered":
        return {"answer": 42}
    if request.name == "vendor/asked":
        elicit("May I?", when_unavailable = "accept")
passthrough()
"#;
    let mut proxy = world(script, &[]).stdio();
    proxy.client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await.result();
    let answered = proxy.client.request("vendor/answered", "{}").await;
    assert_eq!(answered.error_code(), -32603);
    let text = "`on_other_request` returned a `dict` for `vendor/answered`; it must return None";
    assert_eq!(answered.error_message(), text);
    let asked = proxy.client.request("vendor/asked", "{}").await;
    assert_eq!(asked.error_code(), -32603);
    let text = "`elicit()` is not available in `vendor/asked` requests: the user cannot be asked (policy.star:";
    assert!(asked.error_message().starts_with(text), "{}", asked.raw);
    proxy.client.stderr().line("return None to let it through, or refuse it with `fail(\"why\")`").await;
    proxy.client.request("vendor/else", "{}").await.result();
}

#[tokio::test]
async fn a_key_twice_is_refused_before_anybody_reads_either() {
    let mut proxy = serving(POLICY, &[]).await;
    let twice = proxy.client.request("vendor/find", r#"{"q":{"a":1,"a":2}}"#).await;
    assert_eq!(twice.error_code(), -32602, "{}", twice.raw);
    let twice =
        r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"a","value":"closed"}}"#;
    assert_eq!(proxy.client.request("completion/complete", twice).await.error_code(), -32602);
}

#[tokio::test]
async fn what_is_no_function_cannot_be_asked() {
    let finished = world("on_other_request = 1\n", &[]).refused().await;
    assert!(finished.stderr.contains("`on_other_request` must be a function, not a `int`"), "{}", finished.stderr);
}

#[tokio::test]
async fn the_rate_limiter_counts_the_methods_of_vendors_only() {
    let script = r#"
load("@proxy//lib@1.star", "rate_limiter")
limit = rate_limiter({"perUser": {"maxTokens": 2, "refillPeriod": 3600}})
on_other_request = limit
passthrough()
"#;
    let mut proxy = serving(script, &[]).await;
    let client = &mut proxy.client;
    for _ in 0..5 {
        client.request("completion/complete", &completion("greet", "a")).await.result();
        client.request("resources/subscribe", r#"{"uri":"memo://greeting"}"#).await.result();
    }
    for _ in 0..2 {
        client.request("vendor/find", "{}").await.result();
    }
    let refused = client.request("vendor/find", "{}").await;
    assert!(refused.error_message().starts_with("too many requests: try again in"), "{}", refused.raw);
    assert!(refused.value()["error"]["data"]["retryAfterSeconds"].as_u64().is_some_and(|wait| wait > 60));
}
