//! Methods and notifications that the protocol does not know reach the server they belong to, and no other.

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::Proxy;
use crate::support::message::{self, Message, member};
use crate::support::modern::{meta_members, meta_with_progress, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy;

const ERAS: [&str; 2] = ["legacy", "modern"];
const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

/// A server that knows vendor's methods beside one that does not, and the methods that the config gives it.
fn two(era: &str, methods: serde_json::Value) -> Config {
    let server = fake_backend(["--era", era, "--vendor"]);
    Config::new().server("first", &fake_backend(["--era", era, "--only", "other"])).server_with(
        "fake",
        &server,
        serde_json::json!({"methods": methods}),
    )
}

/// The params that reached the server, without `_meta`.
fn arrived(answer: &Message) -> String {
    let params = member(&answer.result(), "params").expect("the server shows what it got");
    match params.find(r#","_meta":"#).or_else(|| params.find(r#""_meta":"#)) {
        Some(at) => format!("{}}}", &params[..at]),
        None => params,
    }
}

#[tokio::test]
async fn a_method_given_to_a_server_reaches_it_in_every_combination_of_eras() {
    let params = r#"{ "q" : 1.10 , "b":"\ud800" }"#;
    for era in ERAS {
        let mut proxy = Proxy::new(&two(era, serde_json::json!(["vendor/*"]))).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let answer = proxy.client.request("vendor/a/b", params).await;
        assert_eq!(member(&answer.result(), "method").as_deref(), Some(r#""vendor/a/b""#));
        assert_eq!(arrived(&answer).trim_end_matches([' ', '}']), params.trim_end_matches([' ', '}']));
        assert_eq!(member(&answer.result(), "resultType"), None);
        let answer = proxy.client.modern("vendor/a/b", params).await;
        assert!(answer.result().contains(r#""q" : 1.10 , "b":"\ud800""#), "{}", answer.raw);
        assert_eq!(member(&answer.result(), "resultType").as_deref(), Some(r#""complete""#));
    }
}

#[tokio::test]
async fn over_http_too_with_its_header_and_its_progress() {
    for era in ERAS {
        let (_server, url) =
            Program::start_server(fake_backend(["--era", era, "--vendor", "--http", "127.0.0.1:0"])).await;
        let config = Config::new().remote("fake", &url).section(PASSTHROUGH);
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        let asked = message::request("7", "vendor/x", &with_meta("{}", r#"{"progressToken":""}"#));
        let messages = client.send(&client.legacy(&asked)).await.messages().await;
        assert_eq!(messages[0].value()["params"]["progressToken"], "", "{messages:?}");
        assert_eq!(messages[1].value()["result"]["method"], "vendor/x");
        let asked = HttpRequest::modern_with_meta("8", "vendor/x", "{}", &meta_with_progress("0"));
        let messages = client.send(&asked).await.messages().await;
        assert_eq!(messages[0].value()["params"]["progressToken"], 0, "{messages:?}");
        assert_eq!(messages[1].value()["result"]["method"], "vendor/x");
        let reply = client.send(&asked.clone().with("Mcp-Method", "vendor/y")).await;
        assert_eq!((reply.status, reply.response().await.error_code()), (400, -32020));
    }
}

#[tokio::test]
async fn what_belongs_to_nobody_is_not_found() {
    let proxy = Proxy::new(&two("legacy", serde_json::json!(["vendor/x"]))).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("vendor/x", "{}").await.value()["result"]["method"], "vendor/x");
    for method in ["vendor/y", "unheard", "tools/other", "tasks/list", "vendor/x/y"] {
        assert_eq!(client.request(method, "{}").await.error_code(), -32601, "{method}");
        let reply = client.send(&HttpRequest::modern("1", method, "{}")).await;
        assert_eq!((reply.status, reply.response().await.error_code()), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn a_single_server_that_is_passed_through_has_all_methods_but_the_protocol_s() {
    for era in ERAS {
        let config = Config::new().server("fake", &fake_backend(["--era", era, "--vendor"]));
        let mut proxy = Proxy::new(&config.clone().section(PASSTHROUGH)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        assert_eq!(proxy.client.request("vendor/x", "{}").await.value()["result"]["method"], "vendor/x");
        // The server's own refusal, in either era.
        for refused in [proxy.client.request("other/x", "{}").await, proxy.client.modern("other/x", "{}").await] {
            assert_eq!(
                (refused.error_code(), refused.error_message().as_str()),
                (-32601, "there is no method other/x")
            );
        }
        for method in ["tasks/list", "sampling/createMessage", "server/shutdown"] {
            let refused = proxy.client.request(method, "{}").await;
            assert_eq!(
                (refused.error_code(), refused.error_message()),
                (-32601, format!("method not found: {method}"))
            );
        }
        // A script may hide things; nothing goes around it.
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        assert_eq!(proxy.client.request("vendor/x", "{}").await.error_code(), -32601);
    }
}

#[tokio::test]
async fn a_name_goes_before_a_beginning_and_a_longer_beginning_before_a_shorter_one() {
    let config = Config::new()
        .server_with("wide", &fake_backend(["--only", "other"]), serde_json::json!({"methods": ["vendor/*"]}))
        .server_with(
            "exact",
            &fake_backend(["--vendor", "--only", "echo"]),
            serde_json::json!({"methods": ["vendor/one", "vendor/many/*"]}),
        );
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for method in ["vendor/one", "vendor/many/x"] {
        assert_eq!(proxy.client.request(method, "{}").await.value()["result"]["method"], method);
    }
    assert_eq!(proxy.client.request("vendor/two", "{}").await.error_code(), -32601);
}

#[tokio::test]
async fn a_notification_reaches_the_server_it_belongs_to() {
    for era in ERAS {
        let methods = serde_json::json!(["notifications/vendor/*"]);
        let mut proxy = Proxy::new(&two(era, methods)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| names.iter().any(|name| name == "seen")).await;
        proxy.client.call("echo", "{}").await.result();
        proxy.client.notify("notifications/stray/x", r#"{"stray":1}"#).await;
        let own = format!(r#"{{"_meta":{{{},"v/k":1}},"n":1.10}}"#, meta_members("2026-07-28", "{}"));
        proxy.client.notify("notifications/vendor/poke", &own).await;
        let seen = proxy.client.call("seen", r#"{"wait_for":"notifications/vendor/poke"}"#).await.structured();
        let told = message::notification("notifications/vendor/poke", r#"{"_meta":{"v/k":1},"n":1.10}"#);
        assert!(seen.contains(&serde_json::json!(told).to_string()), "{seen}");
        assert!(!seen.contains("stray"), "{seen}");
    }
}

#[tokio::test]
async fn a_method_given_to_two_servers_is_an_error_of_the_config() {
    let text = "mcpServers:\n  a: {command: x, methods: [vendor/x]}\n  b: {command: y, methods: [vendor/x]}\n";
    let checked = proxy::Proxy::with_config_text(text).run(["check"]).await.expect(2);
    let told = "method `vendor/x` is assigned to two servers: `b` and `a`";
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
}

#[tokio::test]
async fn what_a_server_says_in_the_middle_of_a_call_reaches_its_caller() {
    for era in ERAS {
        let config = Config::new().server("fake", &fake_backend(["--era", era, "--only", "notify"]));
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        let told = r#"{"method":"notifications/vendor/news","params":{"n":1.10}}"#;
        let own = r#"{"method":"notifications/tasks/status","params":{"taskId":"1"}}"#;
        for (arguments, count) in [(told, 2), (own, 1)] {
            let call = message::call("notify", arguments);
            let asked = client.legacy(&message::request("5", "tools/call", &call));
            let messages = client.send(&asked).await.messages().await;
            assert_eq!(messages.len(), count, "{messages:?}");
            let stateless = client.send(&HttpRequest::modern("6", "tools/call", &call)).await.messages().await;
            assert_eq!(stateless.len(), count, "{stateless:?}");
            if count == 2 {
                for message in [&messages[0], &stateless[0]] {
                    assert_eq!(message.method().as_deref(), Some("notifications/vendor/news"));
                    assert_eq!(message.params(), r#"{"n":1.10}"#);
                }
            }
        }
    }
}
