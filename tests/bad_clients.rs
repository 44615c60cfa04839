//! Clients that send too much, the wrong thing, or in the wrong form; the next honest request is served.

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::Proxy;
use crate::support::message;
use crate::support::programs::fake_backend;

fn proxy() -> Proxy {
    let backend = fake_backend(["--era", "legacy", "--only", "echo"]);
    Proxy::new(&Config::new().server("fake", &backend).section("sessionInit: {preset: passthrough}"))
}

fn ten_megabytes() -> String {
    message::call("echo", &format!(r#"{{"s":"{}"}}"#, "x".repeat(10_000_000)))
}

#[tokio::test]
async fn a_line_of_ten_megabytes_gets_one_error_and_the_next_is_served() {
    let mut proxy = proxy().stdio();
    proxy.client.initialize("2025-11-25").await;
    let id = proxy.client.begin("tools/call", &ten_megabytes()).await;
    let refused = proxy.client.next().await;
    assert_eq!((refused.error_code(), refused.id()), (-32600, Some(id)));
    assert_eq!(proxy.client.call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
    assert_eq!(proxy.client.unclaimed().count(), 0);
}

#[tokio::test]
async fn a_body_of_ten_megabytes_is_too_large_and_the_next_is_served() {
    let proxy = proxy().http().await;
    let mut client = proxy.client();
    let reply = client.send(&HttpRequest::modern("1", "tools/call", &ten_megabytes())).await;
    assert_eq!((reply.status, reply.response().await.error_code()), (413, -32600));
    assert_eq!(client.modern_call("echo", r#"{"a":1}"#).await.structured(), r#"{"a":1}"#);
}

#[tokio::test]
async fn the_limit_of_a_message_can_be_set() {
    let backend = fake_backend(["--era", "legacy", "--only", "echo"]);
    let config = Config::new().server("fake", &backend).section("serve: {maxBodyBytes: 2KB}");
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await;
    let arguments = |size: usize| format!(r#"{{"s":"{}"}}"#, "x".repeat(size));
    proxy.client.call("echo", &arguments(1500)).await.result();
    // The caller is told, wherever its request has the id.
    let large = message::call("echo", &arguments(2500));
    let id = proxy.client.begin("tools/call", &large).await;
    assert_eq!(proxy.client.response(&id).await.error_code(), -32600);
    proxy.client.send(&format!(r#"{{"method":"tools/call","params":{large},"jsonrpc":"2.0","id":"last"}}"#)).await;
    assert_eq!(proxy.client.response(r#""last""#).await.error_code(), -32600);
    proxy.client.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{large}}}"#)).await;
    let unknown = proxy.client.next().await;
    assert_eq!((unknown.id(), unknown.error_code()), (None, -32600));
    proxy.client.call("echo", &arguments(1500)).await.result();
}

#[tokio::test]
async fn a_body_that_is_no_message_is_a_bad_request() {
    let proxy = proxy().http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await;
    for (body, code) in [("{not json", -32700), ("", -32700), ("[", -32700), ("42", -32600), ("{}", -32600)] {
        for request in [HttpRequest::post(body), client.legacy(body)] {
            let reply = client.send(&request).await;
            let (status, answer) = (reply.status, reply.response().await);
            assert_eq!((status, answer.error_code(), answer.id()), (400, code, None), "{body}");
        }
    }
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn an_unknown_method_is_not_found_in_either_era() {
    let mut on_pipe = proxy().stdio();
    on_pipe.client.initialize("2025-11-25").await;
    assert_eq!(on_pipe.client.request("no/such", "{}").await.error_code(), -32601);
    assert_eq!(on_pipe.client.modern("no/such", "{}").await.error_code(), -32601);
    let on_http = proxy().http().await;
    let mut client = on_http.client();
    assert_eq!(client.modern("no/such", "{}").await.error_code(), -32601);
    client.initialize("2025-11-25").await;
    assert_eq!(client.request("no/such", "{}").await.error_code(), -32601);
}

#[tokio::test]
async fn a_call_that_names_no_tool_or_an_unknown_one_is_told_so() {
    let mut proxy = proxy().stdio();
    proxy.client.initialize("2025-11-25").await;
    for params in [
        "{}",
        "[]",
        r#"{"name":7}"#,
        r#"{"name":"nothing"}"#,
        r#"{"name":"echo","arguments":[]}"#,
        r#"{"name":"echo","arguments":null}"#,
    ] {
        assert_eq!(proxy.client.request("tools/call", params).await.error_code(), -32602, "{params}");
        let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{params}}}"#);
        proxy.client.send(&line).await;
        assert_eq!(proxy.client.response(r#""x""#).await.error_code(), -32602, "{params}");
    }
}

#[tokio::test]
async fn a_client_that_opens_neither_way_is_told_both() {
    let mut on_pipe = proxy().stdio();
    let refused = on_pipe.client.request("tools/list", "{}").await;
    assert_eq!(refused.error_code(), -32602);
    assert!(refused.error_message().contains("initialize") && refused.error_message().contains("2026-07-28"));
    assert_eq!(on_pipe.client.request("ping", "{}").await.result(), "{}");
    let on_http = proxy().http().await;
    let reply = on_http.client().send(&HttpRequest::post(message::request("5", "tools/list", "{}"))).await;
    let (status, answer) = (reply.status, reply.response().await);
    assert_eq!((status, answer.id().as_deref()), (400, Some("5")));
    assert!(answer.error_message().contains("initialize") && answer.error_message().contains("2026-07-28"));
}

#[tokio::test]
async fn a_body_of_another_type_or_on_another_path_is_refused() {
    let proxy = proxy().http().await;
    let client = proxy.client();
    let request = HttpRequest::modern("1", "tools/list", "{}");
    assert_eq!(client.send(&request.clone().with("Content-Type", "text/plain")).await.status, 415);
    assert_eq!(client.send(&request.clone().without("Content-Type")).await.status, 415);
    let with_charset = request.clone().with("Content-Type", "Application/JSON; charset=utf-8");
    assert_eq!(client.send(&with_charset).await.status, 200);
    let elsewhere =
        crate::support::http_client::HttpClient::new(&format!("{}/other", proxy.url), proxy.program.stderr.clone());
    assert_eq!(elsewhere.send(&request).await.status, 404);
}

#[tokio::test]
async fn a_client_that_says_too_much_about_itself_is_told_so_and_others_are_served() {
    let info = |size: usize| format!(r#"{{"name":"test-client","version":"{}"}}"#, "1".repeat(size));
    let handshake = |size: usize| {
        let params = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{}}}"#, info(size));
        message::request("1", "initialize", &params)
    };
    let request = |size: usize| {
        let key = "io.modelcontextprotocol";
        let meta = format!(
            r#"{{"{key}/protocolVersion":"2026-07-28","{key}/clientInfo":{},"{key}/clientCapabilities":{{}}}}"#,
            info(size)
        );
        HttpRequest::modern_with_meta("1", "tools/list", "{}", &meta)
    };
    let proxy = proxy().http().await;
    let mut client = proxy.client();
    for (size, fits) in [(16_000, true), (17_000, false), (3_900_000, false)] {
        for request in [HttpRequest::post(handshake(size)), request(size)] {
            let answer = client.send(&request).await.response().await;
            if fits {
                answer.result();
            } else {
                assert_eq!(answer.error_code(), -32602);
                assert!(answer.error_message().contains("the limit is 16384"), "{}", answer.error_message());
            }
        }
    }
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
}
