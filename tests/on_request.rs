//! A script's `on_request` sees everything that a client or a model names, before it happens.

use serde_json::{Value, json};

use crate::elicitation::{Client, ERAS, EVERYTHING, one_server, text};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// Notes what it is asked, refuses what is called `closed`, and answers for those who say `mine`.
const POLICY: &str = r#"
def on_request(request):
    print("asked %s %s %s" % (request.method, request.name, json.encode(request.arguments)))
    if "closed" in json.encode([request.name, request.arguments]):
        fail("closed today", data = {"until": "monday"})
    if "mine" in request.arguments.values():
        return {"answer": 42} if request.method == "tools/call" else "the policy's own"

def inner(args):
    return {"inner": args, "echoed": unwrap(tools[0][1](args))}

tools = backends()["fake"].tools()
for meta, call in tools:
    publish(meta, call)
wrapped = metadata("wrapped", "", {"type": "object", "properties": {"n": {"type": "integer"}}}, {})
publish(wrapped, inner)
index = search_index(tools + [(wrapped, inner)])
publish(metadata("by_name", "", {"type": "object", "properties": {"name": {}, "args": {}}}, {}), lambda args: index.call(args["name"], args["args"]))
passthrough()
"#;

fn world(script: &str) -> Proxy {
    let backend = fake_backend(["--only", "echo,raw", "--resources", "--prompts"]);
    let config = Config::new().server("fake", &backend).section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

async fn serving() -> StdioProxy {
    let mut proxy = world(POLICY).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

fn asked(proxy: &StdioProxy) -> Vec<String> {
    let log = proxy.client.stderr().text();
    // What is behind it are the fields that every line has.
    let line = |line: &str| Some(line.split_once("asked ")?.1.split(" tool=").next()?.to_owned());
    log.lines().filter_map(line).collect()
}

#[tokio::test]
async fn everything_a_client_names_is_asked_for_first() {
    let mut proxy = serving().await;
    let client = &mut proxy.client;
    client.call("echo", r#"{"a":1}"#).await.result();
    client.call("wrapped", r#"{"n":2}"#).await.result();
    client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"ann"}}"#).await.result();
    client.request("resources/read", r#"{"uri":"memo://greeting"}"#).await.result();
    client.request("resources/read", r#"{"uri":"memo://notes/x"}"#).await.result();
    client.request("tools/list", "{}").await.result();
    proxy.client.stderr().line("memo://notes/x").await;
    assert_eq!(
        asked(&proxy),
        [
            r#"tools/call echo {"a":1}"#,
            // What a handler calls is its own business: `echo` is not asked for again.
            r#"tools/call wrapped {"n":2}"#,
            r#"prompts/get greet {"who":"ann"}"#,
            r#"resources/read memo://greeting {"uri":"memo://greeting"}"#,
            r#"resources/read memo://notes/x {"uri":"memo://notes/x"}"#,
        ]
    );
}

#[tokio::test]
async fn what_is_let_through_unwrapped_keeps_every_byte() {
    let mut proxy = serving().await;
    let odd =
        r#"{"content":[{"type":"hologram","x":1.10}],"structuredContent":{"big":123456789012345678901234567890}}"#;
    let answer = proxy.client.call("raw", &format!(r#"{{"result":{odd}}}"#)).await;
    assert_eq!(answer.result(), odd);
}

#[tokio::test]
async fn a_refusal_is_an_error_result_of_a_tool_and_an_error_of_the_rest() {
    let mut proxy = serving().await;
    let client = &mut proxy.client;
    for tool in ["echo", "wrapped"] {
        let refused = client.call(tool, r#"{"x":"closed"}"#).await.value();
        assert_eq!(refused["result"]["isError"], true);
        let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(text.starts_with("closed today (policy.star:"), "{text}");
    }
    for (method, params) in [
        ("prompts/get", r#"{"name":"greet","arguments":{"who":"closed"}}"#),
        ("resources/read", r#"{"uri":"memo://notes/closed"}"#),
    ] {
        let refused = client.request(method, params).await.value();
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["data"]),
            (&json!(-32603), &json!({"until": "monday"}))
        );
    }
}

#[tokio::test]
async fn an_answer_of_the_policy_is_shaped_as_a_handler_s() {
    let mut proxy = serving().await;
    let client = &mut proxy.client;
    for tool in ["echo", "wrapped"] {
        let answer = client.call(tool, r#"{"x":"mine"}"#).await;
        assert_eq!(answer.structured(), r#"{"answer":42}"#);
        assert_eq!(answer.text(), r#"{"answer":42}"#);
    }
    let prompt = client.request("prompts/get", r#"{"name":"greet","arguments":{"who":"mine"}}"#).await.value();
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "the policy's own");
}

#[tokio::test]
async fn a_tool_that_is_named_to_an_index_is_asked_for_too() {
    let mut proxy = serving().await;
    let client = &mut proxy.client;
    let answer = client.call("by_name", r#"{"name":"echo","args":{"a":1}}"#).await;
    assert_eq!(answer.structured(), r#"{"a":1}"#);
    let answer = client.call("by_name", r#"{"name":"wrapped","args":{"n":"mine"}}"#).await;
    assert_eq!(answer.structured(), r#"{"answer":42}"#);
    proxy.client.stderr().line("asked tools/call wrapped").await;
    assert_eq!(
        asked(&proxy),
        [
            r#"tools/call by_name {"name":"echo","args":{"a":1}}"#,
            r#"tools/call echo {"a":1}"#,
            r#"tools/call by_name {"name":"wrapped","args":{"n":"mine"}}"#,
            r#"tools/call wrapped {"n":"mine"}"#,
        ]
    );
}

#[tokio::test]
async fn it_is_asked_before_the_arguments_are_checked() {
    let mut proxy = serving().await;
    let wrong = proxy.client.call("wrapped", r#"{"n":"no number"}"#).await.value();
    let text = wrong["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("invalid arguments for `wrapped`"), "{text}");
    proxy.client.stderr().line("asked tools/call wrapped").await;
    assert_eq!(proxy.client.call("wrapped", r#"{"n":"mine"}"#).await.structured(), r#"{"answer":42}"#);
}

#[tokio::test]
async fn only_the_listed_headers_are_seen_in_either_era() {
    let script = "
def on_request(request):
    return {\"headers\": request.headers, \"user\": request.user.sub, \"client\": request.client.name}
publish(metadata(\"any\", \"\", {}, {}), lambda args: None)
";
    let config = Config::new()
        .section("sessionInit: { scriptFile: policy.star }")
        .section("serve: { requestHeaders: [X-Team, x-absent] }")
        .section("auth: { tokens: [{token: secret-token-of-a, sub: ann}] }");
    let proxy = Proxy::new(&config).file("policy.star", script).http().await;
    let call = message::call("any", "{}");
    let dressed = |request: HttpRequest| {
        request.header("X-Team", "red").header("X-Team", "blue").header("X-Other", "no").header("Cookie", "no")
    };
    let mut client = proxy.client().with_header("Authorization", "Bearer secret-token-of-a");
    client.initialize("2025-11-25").await.result();
    let legacy = client.send(&dressed(client.legacy(&message::request("7", "tools/call", &call)))).await;
    let modern = client.send(&dressed(HttpRequest::modern("8", "tools/call", &call))).await;
    for reply in [legacy, modern] {
        let seen: Value = serde_json::from_str(&reply.response().await.structured()).expect("JSON");
        assert_eq!(seen, json!({"headers": {"x-team": "red, blue"}, "user": "ann", "client": "test-client"}));
    }
}

#[tokio::test]
async fn what_is_no_function_cannot_be_asked() {
    let finished = world("on_request = True\n").refused().await;
    assert!(finished.stderr.contains("`on_request` must be a function, not a `bool`"), "{}", finished.stderr);
    let finished = world("def on_request():\n    return None\n").refused().await;
    assert!(finished.stderr.contains("`on_request` must take one argument, the request"), "{}", finished.stderr);
}

const COUNTS: &str = "sessionInit:
  script: |
    def on_request(request):
        print('asked', request.method, request.name)
    for meta, call in backends()['fake'].tools():
        publish(meta, call)
";

#[tokio::test]
async fn a_call_in_which_the_server_asks_something_is_still_one_call() {
    for era in ERAS {
        for modern in [false, true] {
            let config = one_server(era, json!({})).section(COUNTS);
            let mut client = Client::at(Proxy::new(&config), modern, EVERYTHING).await;
            let (questions, outcome) = client.converse("ask", json!({"rounds": 2}), json!({"action": "decline"})).await;
            assert_eq!(questions.len(), 2, "{era}, {modern}: {outcome}");
            client.proxy.client.stderr().line("asked tools/call ask").await;
            assert_eq!(asked(&client.proxy), ["tools/call ask"], "{era}, {modern}");
        }
    }
}

const ASKS: &str = "sessionInit:
  script: |
    def on_request(request):
        answer = elicit('May I?', when_unavailable = 'reject')
        log('asked', level = 'info', tool = request.name)
        if answer.action != 'accept':
            fail('not today')
    for meta, call in backends()['fake'].tools():
        publish(meta, call)
        publish(meta.replace(name = 'wrapped_' + meta.name), lambda args, call = call: call(args))
";

#[tokio::test]
async fn it_may_ask_a_human_before_what_is_wrapped_and_what_is_not() {
    for modern in [false, true] {
        let config = one_server("legacy", json!({})).section(ASKS);
        let mut client = Client::of(&config, modern, EVERYTHING).await;
        for tool in ["echo", "wrapped_echo"] {
            let yes = json!({"action": "accept", "content": {}});
            let (questions, outcome) = client.converse(tool, json!({"n": 1}), yes).await;
            assert_eq!((questions.len(), &outcome["result"]["structuredContent"]), (1, &json!({"n": 1})), "{outcome}");
            let (questions, outcome) = client.converse(tool, json!({"n": 1}), json!({"action": "decline"})).await;
            assert_eq!((questions.len(), &outcome["result"]["isError"]), (1, &json!(true)), "{outcome}");
            assert!(text(&outcome).starts_with("not today"), "{outcome}");
        }
    }
}

#[tokio::test]
async fn a_policy_that_calls_what_it_is_asked_about_is_stopped_with_the_cure() {
    let script = r#"
def note(args):
    return "noted"

index = search_index([(metadata(name, "", {}, {}), note) for name in ["first", "second", "itself"]])

def on_request(request):
    if request.name == "itself":
        index.call("itself", {})
    if request.name in ["by_another", "second"]:
        attempt(lambda: index.call("second", {}))
    if request.name == "well":
        return index.call("first", {})

for name in ["itself", "by_another", "well"]:
    publish(metadata(name, "", {}, {}), note)
"#;
    let mut proxy = world(script).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for (tool, about, line) in [("itself", "itself", 9), ("by_another", "second", 11)] {
        let answer = proxy.client.call(tool, "{}").await;
        assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
        let expected = format!(
            "`on_request` runs for `{about}` and calls `{about}` with `index.call`, which would run `on_request` again \
             without end (policy.star:{line})"
        );
        assert_eq!(answer.text(), expected);
    }
    proxy
        .client
        .stderr()
        .line("call its handler, which does not run `on_request`: `index.get(\"itself\")[1](args)`")
        .await;
    assert_eq!(proxy.client.call("well", "{}").await.text(), "noted", "what it lets through may be called");
}
