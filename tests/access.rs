//! Who may use the HTTP front: pages of a browser, holders of tokens, and nobody by accident.

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

fn config(sections: &str) -> Config {
    let backend = fake_backend(["--only", "echo,headers,seen"]);
    Config::new().server("fake", &backend).section("sessionInit: {preset: passthrough}").section(sections)
}

fn list() -> HttpRequest {
    HttpRequest::modern("1", "tools/list", "{}")
}

fn preflight(origin: &str) -> HttpRequest {
    HttpRequest::bare("OPTIONS")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "mcp-method,content-type,authorization")
}

const PAGE: &str = "https://app.example";

#[tokio::test]
async fn a_page_of_a_listed_origin_may_ask_first_and_then_speak() {
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}]}";
    let sections = format!("serve: {{allowedOrigins: ['{PAGE}']}}\n{tokens}");
    let proxy = Proxy::new(&config(&sections)).http().await;
    let client = proxy.client();
    let reply = client.send(&preflight(PAGE)).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, Some(PAGE)));
    let methods = reply.header("access-control-allow-methods").unwrap_or_default();
    assert!(["POST", "GET", "DELETE"].iter().all(|method| methods.contains(method)), "{methods}");
    let headers = reply.header("access-control-allow-headers").unwrap_or_default();
    assert!(["mcp-method", "content-type", "authorization"].iter().all(|name| headers.contains(name)), "{headers}");

    let request = list().header("Origin", PAGE).header("Authorization", "Bearer secret-token-of-a");
    let reply = client.send(&request).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(PAGE)));
    assert!(reply.header("access-control-expose-headers").is_some_and(|names| names.contains("Mcp-Session-Id")));
    assert_eq!(reply.header("vary"), Some("Origin"));
}

#[tokio::test]
async fn a_page_of_any_other_origin_is_refused() {
    let proxy = Proxy::new(&config(&format!("serve: {{allowedOrigins: ['{PAGE}']}}"))).http().await;
    let client = proxy.client();
    for origin in ["https://evil.example", "http://app.example", "https://app.example:8443", "null"] {
        for request in [preflight(origin), list().header("Origin", origin)] {
            let reply = client.send(&request).await;
            assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None), "{origin}");
        }
    }
    let reply = client.send(&list()).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, None));
}

async fn with_tokens() -> HttpProxy {
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
    Proxy::new(&config(tokens)).http().await
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn only_a_right_token_opens_the_door() {
    let proxy = with_tokens().await;
    let anonymous = proxy.client();
    let wrong = r#"Bearer error="invalid_token", error_description="the token is not accepted""#;
    let two = r#"Bearer error="invalid_request", error_description="there are several Authorization headers""#;
    for (request, status, challenge) in [
        (list(), 401, "Bearer"),
        (list().header("Authorization", "Bearer wrong"), 401, wrong),
        (list().header("Authorization", "Bearer secret-token-of-"), 401, wrong),
        (list().header("Authorization", "Basic secret-token-of-a"), 401, "Bearer"),
        (list().header("Authorization", "secret-token-of-a"), 401, "Bearer"),
        (
            list()
                .header("Authorization", "Bearer secret-token-of-a")
                .header("Authorization", "Bearer secret-token-of-b"),
            400,
            two,
        ),
        (HttpRequest::get(), 401, "Bearer"),
        (HttpRequest::delete(), 401, "Bearer"),
    ] {
        let reply = anonymous.send(&request).await;
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (status, Some(challenge)),
            "{:?}",
            request.headers
        );
    }
    assert_eq!(holder(&proxy, "secret-token-of-a").send(&list()).await.status, 200);
    let mut client = holder(&proxy, "secret-token-of-b");
    client.initialize("2025-11-25").await.result();
    client.call("echo", "{}").await.result();
}

#[tokio::test]
async fn wrong_tokens_are_counted_and_slowed_and_right_ones_are_not() {
    let proxy = with_tokens().await;
    let (url, log) = (proxy.url.clone(), proxy.program.stderr.clone());
    let mut attempts = tokio::task::JoinSet::new();
    // Many more than may wait at once, on connections of their own.
    for number in 0..60 {
        let client = HttpClient::new(&url, log.clone()).with_header("Authorization", &format!("Bearer guess-{number}"));
        attempts.spawn(async move {
            let reply = client.send(&list()).await;
            (
                reply.status,
                reply.header("retry-after").is_some_and(|wait| wait.parse::<u32>().is_ok_and(|wait| wait > 0)),
            )
        });
    }
    let mut answered = Vec::new();
    while let Some(reply) = attempts.join_next().await {
        let reply = reply.expect("it is answered");
        answered.push(reply);
        if reply.0 == 429 {
            break;
        }
    }
    let refused = |(status, retry): &(u16, bool)| (*status, *retry) == (401, false) || (*status, *retry) == (429, true);
    assert!(answered.iter().all(refused) && !attempts.is_empty(), "{answered:?}");
    // Those of the same address that know a token do not wait behind them.
    for token in ["secret-token-of-a", "secret-token-of-b"] {
        assert_eq!(holder(&proxy, token).send(&list()).await.status, 200);
    }
    assert!(!attempts.is_empty(), "some guesses still wait for their refusal");
    log.line("request without a valid token (401), the last one from 127.0.0.1").await;
    assert!(!log.text().contains("guess-"), "what was guessed may be nearly right");
    assert_eq!(log.text().matches("without a valid token").count(), 1, "one line, not sixty");
}

#[tokio::test]
async fn a_token_that_can_be_guessed_is_an_error_of_the_config() {
    let config = config("auth: {tokens: [{token: x, sub: ann}]}");
    let said = Proxy::new(&config).run(["check"]).await.expect(2).stderr;
    assert!(said.contains("must have at least 16 characters") && said.contains("openssl rand -base64 32"), "{said}");
}

/// A request over HTTP/2 with this authority and, beside it, this `Host`.
async fn over_http2(proxy: &HttpProxy, authority: &str, host: Option<&str>) -> u16 {
    let client = proxy.client();
    let stream = tokio::net::TcpStream::connect(client.host()).await.expect("it listens");
    let (executor, stream) = (hyper_util::rt::TokioExecutor::new(), hyper_util::rt::TokioIo::new(stream));
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, stream).await.expect("it is HTTP/2");
    let driver = tokio::spawn(connection);
    let mut request = http::Request::post(format!("http://{authority}/mcp"));
    for (name, value) in &list().headers {
        request = request.header(name, value);
    }
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let body = http_body_util::Full::new(bytes::Bytes::from(list().body.unwrap_or_default()));
    let reply = sender.send_request(request.body(body).expect("a request")).await.expect("a reply");
    driver.abort();
    reply.status().as_u16()
}

#[tokio::test]
async fn a_refused_host_is_named_with_those_that_are_accepted_and_once_in_the_log() {
    let proxy = Proxy::new(&config("")).http().await;
    for _ in 0..2 {
        let reply = proxy.client().send(&list().header("Host", "mcp.example.com")).await;
        assert_eq!(reply.status, 403);
        let text = reply.text().await;
        assert!(text.contains("unknown host in the `Host` header: `mcp.example.com`"), "{text}");
        assert!(text.contains("accepted are localhost, 127.0.0.1, [::1]"), "{text}");
    }
    let log = proxy.program.stderr.text();
    assert_eq!(log.matches("refused a request with the host `mcp.example.com`").count(), 1, "{log}");
}

#[tokio::test]
async fn over_http2_the_authority_counts_and_a_host_beside_it_must_be_the_same() {
    let proxy = Proxy::new(&config("")).http().await;
    let own = proxy.client().host().to_owned();
    let local = own.replace("127.0.0.1", "localhost");
    for (authority, host, status) in [
        (own.as_str(), None, 200),
        (&local, None, 200),
        (&own, Some(own.as_str()), 200),
        ("evil.example", None, 403),
        ("evil.example", Some("evil.example"), 403),
        ("evil.example", Some(own.as_str()), 400),
        (&own, Some("evil.example"), 400),
        (&own, Some(local.as_str()), 400),
    ] {
        assert_eq!(over_http2(&proxy, authority, host).await, status, "{authority} {host:?}");
    }
}

#[tokio::test]
async fn somebody_else_s_session_does_not_exist() {
    let proxy = with_tokens().await;
    let mut ann = holder(&proxy, "secret-token-of-a");
    ann.initialize("2025-11-25").await.result();
    let bob = holder(&proxy, "secret-token-of-b");
    let ping = message::request("1", "ping", "{}");
    let stolen = bob.send(&ann.legacy(&ping)).await;
    let unknown = bob.send(&HttpRequest::post(ping.as_str()).header("Mcp-Session-Id", "unknown")).await;
    assert_eq!((stolen.status, unknown.status), (404, 404));
    assert_eq!(stolen.text().await, unknown.text().await);
    assert_eq!(bob.send(&ann.in_session(HttpRequest::get())).await.status, 404);
    assert_eq!(bob.send(&ann.in_session(HttpRequest::delete())).await.status, 404);
    assert_eq!(ann.send(&ann.legacy(&ping)).await.status, 200);
}

#[tokio::test]
async fn a_client_s_token_stays_with_the_proxy() {
    let (server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0"])).await;
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}]}\nsessionInit: {preset: passthrough}";
    let proxy = Proxy::new(&Config::new().remote("fake", &url).section(tokens)).http().await;
    let mut client = holder(&proxy, "secret-token-of-a");
    let seen = client.modern_call("headers", "{}").await.structured();
    assert!(seen.contains("mcp-method") && !seen.contains("secret-token-of-a"), "{seen}");
    assert!(!proxy.program.stderr.text().contains("secret-token-of-a"));
    drop(server);
}

#[tokio::test]
async fn an_address_that_others_reach_needs_tokens() {
    let proxy = Proxy::new(&config(""));
    let output = proxy.command(["serve", "--http", "0.0.0.0:0", "--config", "proxy.yaml"]).output();
    let output = output.expect("the proxy starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("auth.tokens") && said.contains("--insecure"), "{said}");
    assert!(!said.contains("listening"), "{said}");
}

#[tokio::test]
async fn tokens_change_with_the_config_and_who_is_shut_out_has_no_session() {
    let with = |tokens: &str| config(&format!("auth: {{tokens: [{tokens}]}}"));
    let (ann, bob) = ("{token: secret-token-of-a, sub: ann}", "{token: secret-token-of-b, sub: bob}");
    let proxy = Proxy::new(&with(&format!("{ann}, {bob}"))).http().await;
    let write = |tokens: &str| proxy.world.directory.write("proxy.yaml", &with(tokens).text());
    let status = async |token: &str| holder(&proxy, token).send(&list()).await.status;
    let (mut stays, mut leaves) = (holder(&proxy, "secret-token-of-a"), holder(&proxy, "secret-token-of-b"));
    for client in [&mut stays, &mut leaves] {
        client.initialize("2025-11-25").await.result();
    }
    let mut unasked = leaves.get_stream().await;
    let listen = HttpRequest::modern("7", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut listening = leaves.send(&listen).await;
    listening.next_message().await.expect("an acknowledgment");

    write(&format!("{ann}, {{token: secret-token-of-c, sub: carol}}"));
    while status("secret-token-of-c").await != 200 {}
    assert_eq!(status("secret-token-of-b").await, 401);
    for stream in [&mut unasked, &mut listening] {
        assert!(stream.next_message().await.is_none(), "it ends with the right to it");
    }
    stays.call("echo", "{}").await.result();

    // Bob comes back; his session does not.
    write(&format!("{ann}, {bob}"));
    while status("secret-token-of-b").await != 200 {}
    let ping = message::request("1", "ping", "{}");
    assert_eq!(leaves.send(&leaves.legacy(&ping)).await.status, 404);

    // Another token of the same person is the same person.
    write("{token: secret-token-of-d, sub: ann}");
    while status("secret-token-of-d").await != 200 {}
    assert_eq!(status("secret-token-of-a").await, 401);
    assert_eq!(holder(&proxy, "secret-token-of-d").send(&stays.legacy(&ping)).await.status, 200);
    let log = proxy.program.stderr.text();
    assert!(!log.contains("secret-"), "{log}");
}

#[tokio::test]
async fn a_change_of_the_config_cannot_open_the_door_to_everybody() {
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}]}";
    let proxy = Proxy::new(&config(tokens)).http().await;
    proxy.world.directory.write("proxy.yaml", &config("").text());
    proxy.program.stderr.line("`auth` no longer names any token or issuer").await;
    assert_eq!(proxy.client().send(&list()).await.status, 401);
    assert_eq!(holder(&proxy, "secret-token-of-a").send(&list()).await.status, 200);
    proxy.world.directory.write("proxy.yaml", &config("auth: {tokens: [{token: secret-token-of-b, sub: ann}]}").text());
    while holder(&proxy, "secret-token-of-b").send(&list()).await.status != 200 {}
    assert_eq!(holder(&proxy, "secret-token-of-a").send(&list()).await.status, 401);
}

#[tokio::test]
async fn the_first_token_closes_the_door_to_the_others() {
    let proxy = Proxy::new(&config("")).http().await;
    let mut nobody = proxy.client();
    nobody.initialize("2025-11-25").await.result();
    let mut unasked = nobody.get_stream().await;
    proxy.world.directory.write("proxy.yaml", &config("auth: {tokens: [{token: secret-token-of-a, sub: ann}]}").text());
    assert!(unasked.next_message().await.is_none(), "it ends with the right to it");
    assert_eq!(nobody.send(&list()).await.status, 401);
    assert_eq!(holder(&proxy, "secret-token-of-a").send(&nobody.in_session(HttpRequest::get())).await.status, 404);
}
