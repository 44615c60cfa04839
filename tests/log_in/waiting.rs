//! A server that waits for a log-in: it is said what to run, the other servers do not notice, and nobody keeps trying.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::listener;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

const SERVER: &str = "cloud";
const COMMAND: &str = "proxy login cloud";
/// Longer than the first delays of a reconnect.
const WHILE: Duration = Duration::from_millis(2500);

/// An MCP server with one tool, `echo`, and a door.
struct LockedServer {
    url: String,
    door: Arc<Mutex<Door>>,
}

#[derive(Clone)]
struct Door {
    is_open: bool,
    status: u16,
    challenge: Option<&'static str>,
    /// The only JSON-RPC method that it is closed for, if there is one.
    only: Option<&'static str>,
    /// How many requests were refused.
    refused: usize,
}

impl LockedServer {
    async fn start() -> Self {
        Self::refusing(401, Some("Bearer scope=\"read\"")).await
    }

    async fn refusing(status: u16, challenge: Option<&'static str>) -> Self {
        let (listener, origin) = listener::bind().await;
        let door = Arc::new(Mutex::new(Door { is_open: false, status, challenge, only: None, refused: 0 }));
        let answering = Arc::clone(&door);
        listener::serve(listener, move |request| {
            let answer = answer(&mut answering.lock().expect("nobody panics with it"), &request);
            async move { Some(answer) }
        });
        Self { url: format!("{origin}/mcp"), door }
    }

    fn set(&self, change: impl FnOnce(&mut Door)) {
        change(&mut self.door.lock().expect("nobody panics with it"));
    }

    fn refused(&self) -> usize {
        self.door.lock().expect("nobody panics with it").refused
    }

    fn config(&self, more: Value) -> Config {
        Config::new().remote_with(SERVER, &self.url, more)
    }
}

fn answer(door: &mut Door, request: &Request<Bytes>) -> Response<Body> {
    let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default();
    if !door.is_open && door.only.is_none_or(|only| only == method) {
        door.refused += 1;
        let mut refusal = listener::text(door.status, "no");
        if let Some(challenge) = door.challenge {
            refusal.headers_mut().insert("www-authenticate", challenge.parse().expect("a header"));
        }
        return refusal;
    }
    let result = match method {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "locked", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "here"}]}),
        _ if message["id"].is_null() => return listener::text(if method.is_empty() { 405 } else { 202 }, ""),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return listener::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    listener::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// A session through a proxy, once the log has said that the server waits.
async fn waiting(config: &Config) -> StdioProxy {
    let mut proxy = Proxy::new(config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.stderr().line(COMMAND).await;
    proxy
}

#[tokio::test]
async fn the_other_servers_do_not_notice_and_nobody_keeps_trying() {
    let locked = LockedServer::start().await;
    let config = locked
        .config(json!({}))
        .server("near", &fake_backend(["--only", "seen"]))
        .section("serve: {firstList: 10m}")
        .section("sessionInit: {preset: passthrough}");
    let mut proxy = waiting(&config).await;
    // Lists would wait ten minutes for a server that is still starting.
    assert_eq!(proxy.tools().await, ["seen"]);
    proxy.client.stderr().line("1 of 2 servers is up; `cloud` waits for authorization").await;
    let refused = locked.refused();
    assert!(refused <= 2, "{refused} requests to find out that a log-in is needed");
    tokio::time::sleep(WHILE).await;
    proxy.client.call("seen", "{}").await.structured();
    assert_eq!(locked.refused(), refused, "it was tried again");
    assert_eq!(proxy.client.stderr().text().matches(COMMAND).count(), 1, "{}", proxy.client.stderr().text());
}

#[tokio::test]
async fn a_door_that_closes_in_the_middle_of_a_session_keeps_the_names() {
    let locked = LockedServer::start().await;
    locked.set(|door| door.is_open = true);
    let config = locked.config(json!({"circuitBreaker": {"failures": 2}}));
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names == ["echo"]).await;
    assert_eq!(proxy.client.call("echo", "{}").await.text(), "here");

    locked.set(|door| door.is_open = false);
    let refused = proxy.client.call("echo", "{}").await;
    assert!(refused.text().contains(COMMAND), "{}", refused.raw);
    // Nothing is listed, and what is called all the same is answered at once and without the server.
    proxy.client.tools_until(<[String]>::is_empty).await;
    let asked = locked.refused();
    for _ in 0..5 {
        let refused = proxy.client.call("echo", "{}").await;
        assert!(refused.raw.contains("\"isError\":true") && refused.text().contains(COMMAND), "{}", refused.raw);
    }
    tokio::time::sleep(WHILE).await;
    assert_eq!(locked.refused(), asked, "it was tried again");
}

#[tokio::test]
async fn a_server_that_refuses_only_its_lists_waits_for_a_log_in_as_well() {
    let locked = LockedServer::start().await;
    locked.set(|door| door.only = Some("tools/list"));
    let listed = Proxy::new(&locked.config(json!({}))).run(["list-servers", "--json"]).await.expect(1);
    assert_eq!(listed.json()[0]["status"], "login", "{}", listed.stdout);
}

#[tokio::test]
async fn commands_say_what_to_run_and_do_not_ask_again() {
    let locked = LockedServer::start().await;
    let world = Proxy::new(&locked.config(json!({})));
    let first = world.run(["list-servers", "--json"]).await.expect(1);
    let state = &first.json()[0];
    assert_eq!(state["status"], "login");
    assert!(state["error"].as_str().is_some_and(|error| error.contains(COMMAND)), "{state}");

    let refused = locked.refused();
    let again = world.run(["list-servers"]).await.expect(1);
    let row = again.stdout.lines().nth(1).unwrap_or_default();
    assert!(row.contains("login") && row.contains(COMMAND), "{}", again.stdout);
    let checked = world.run(["check"]).await;
    assert!(checked.stdout.contains("login: ") && checked.stdout.contains(COMMAND), "{}", checked.stdout);
    world.run(["list-tools"]).await;
    assert_eq!(locked.refused(), refused, "what is known was asked again");

    world.run(["list-servers", "--live"]).await.expect(1);
    assert!(locked.refused() > refused, "--live asks");
    let checked = world.run(["check", "--live"]).await.expect(1);
    assert!(checked.stderr.contains(COMMAND), "{}", checked.stderr);
}

#[tokio::test]
async fn a_tool_that_only_the_cache_knows_says_what_to_run_when_it_is_called() {
    let locked = LockedServer::start().await;
    locked.set(|door| door.is_open = true);
    let world = Proxy::new(&locked.config(json!({})));
    world.run(["list-tools"]).await.expect(0);
    locked.set(|door| door.is_open = false);
    let called = world.run(["call", "echo"]).await.expect(1);
    assert!(called.stderr.contains("server `cloud` is not available: it needs authorization"), "{}", called.stderr);
    let listed = world.run(["list-servers"]).await;
    assert!(listed.stdout.contains("cached (") && listed.stdout.contains(COMMAND), "{}", listed.stdout);
}

#[tokio::test]
async fn a_required_server_that_waits_ends_the_start() {
    let locked = LockedServer::start().await;
    let ended = Proxy::new(&locked.config(json!({"required": true}))).run(["serve"]).await.expect(1);
    assert!(ended.stderr.contains("required server `cloud` did not start"), "{}", ended.stderr);
    assert!(ended.stderr.contains(COMMAND), "{}", ended.stderr);
}

#[tokio::test]
async fn a_server_that_wants_something_else_than_a_log_in_has_failed() {
    let authorization = json!({"headers": {"Authorization": "Bearer 0123456789"}});
    for (status, challenge, keys, said) in [
        (401, Some("Basic realm=\"a\""), json!({}), "authorization that `proxy login` does not support (HTTP 401)"),
        (403, None, json!({}), "refuses access (HTTP 403)"),
        (401, Some("Bearer"), authorization, "does not accept the proxy's credentials (HTTP 401): check `headers`"),
    ] {
        let locked = LockedServer::refusing(status, challenge).await;
        let listed = Proxy::new(&locked.config(keys)).run(["list-servers", "--live", "--json"]).await.expect(1);
        let state = &listed.json()[0];
        assert_eq!(state["status"], "failed", "{state}");
        assert!(state["error"].as_str().is_some_and(|error| error.contains(said)), "{state}");
        assert!(!listed.stdout.contains("0123456789"), "{}", listed.stdout);
    }
}

#[tokio::test]
async fn one_log_in_for_several_people_is_said_by_check() {
    let tokens = "auth: {tokens: [{token: 0123456789abcdef0, sub: a}, {token: 0123456789abcdef1, sub: b}]}";
    for (auth, warns) in [(json!({"type": "oauth"}), true), (json!({"type": "oauth", "shared": true}), false)] {
        let config = Config::new().remote_with(SERVER, "https://localhost:9/mcp", json!({"auth": auth}));
        let checked = Proxy::new(&config.section(tokens)).run(["check"]).await;
        let warned = checked.stderr.contains("`mcpServers.cloud.auth`: all callers act as this account");
        assert_eq!(warned, warns, "{}", checked.stderr);
    }
}
