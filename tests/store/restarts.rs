//! A question that outlives the proxy that asked it: with a Redis and a key that the next one has too. What was done is
//! told by the server that did it, which outlives them all.

use serde_json::{Value, json};

use super::{TOKENS, client_of};
use crate::elicitation::{EVERYTHING, accepted};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::program::{Program, is_gone};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

const SCRIPT: &str = r#"
tools = {meta.name: call for meta, call in backends()["fake"].tools()}

def handler(args):
    tools["echo"]({"mark": "before"})
    said = elicit("Sure?", when_unavailable = "error").action
    tools["echo"]({"mark": "after"})
    return said

publish(metadata("handler", "", {}, {}), handler)
"#;

const OLD: &str = "an-older-key-of-more-than-thirty-two-bytes";
const NEW: &str = "a-newer-key-of-more-than-thirty-two-bytes";

/// A server and a Redis that outlive the proxies before them.
struct World {
    redis: Redis,
    server: Program,
    url: String,
}

impl World {
    async fn new() -> Option<Self> {
        let redis = Redis::start().await?;
        let (server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--only", "echo,seen"])).await;
        Some(World { redis, server, url })
    }

    async fn proxy(&self, keys: &str, script: &str) -> HttpProxy {
        let config = Config::new()
            .remote("fake", &self.url)
            .section(TOKENS)
            .section("sessionInit: { scriptFile: policy.star }")
            .section(&format!("store: {{url: '{}'}}\nserve: {{stateKeys: [{keys}]}}", self.redis.url()));
        Proxy::new(&config).file("policy.star", script).http().await
    }

    /// A proxy that asks and is killed before anybody answers; what it said.
    async fn asked_and_killed(&self) -> Value {
        let proxy = self.proxy(OLD, SCRIPT).await;
        let first =
            client_of(&proxy, "secret-token-of-a").modern_with("tools/call", &call().to_string(), EVERYTHING).await;
        proxy.program.kill();
        is_gone(proxy.program.id(), &proxy.program.stderr).await;
        first.value()
    }

    /// How often the server was called before the question and after it, by its own record.
    async fn calls(&self) -> (usize, usize) {
        let seen = HttpClient::new(&self.url, self.server.stderr.clone()).modern_call("seen", "{}").await.value();
        let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
        let calls: Vec<&str> =
            messages.iter().filter_map(Value::as_str).filter(|text| text.contains("tools/call")).collect();
        let count = |mark: &str| calls.iter().filter(|text| text.contains(mark)).count();
        (count("before"), count("after"))
    }
}

fn call() -> Value {
    json!({"name": "handler", "arguments": {"n": 1}})
}

#[tokio::test]
async fn a_proxy_that_was_killed_leaves_its_question_to_the_next_one_and_every_call_is_made_once() {
    let Some(world) = World::new().await else { return };
    let back = accepted(&call(), &world.asked_and_killed().await).to_string();
    assert_eq!(world.calls().await, (1, 0));

    let other = world.proxy(&format!("{NEW}, {OLD}"), SCRIPT).await;
    let mut ann = client_of(&other, "secret-token-of-a");
    assert_eq!(ann.modern_with("tools/call", &back, EVERYTHING).await.text(), "accept");
    assert_eq!(world.calls().await, (1, 1));
    let again = ann.modern_with("tools/call", &back, EVERYTHING).await;
    assert!(again.error_message().contains("already answered or has expired"), "{}", again.raw);
    assert_eq!(world.calls().await, (1, 1), "a ticket that is sent twice");
}

#[tokio::test]
async fn a_script_that_was_edited_meanwhile_refuses_the_answer() {
    let Some(world) = World::new().await else { return };
    let back = accepted(&call(), &world.asked_and_killed().await).to_string();
    let other = world.proxy(OLD, &SCRIPT.replace("Sure?", "Really?")).await;
    let refused = client_of(&other, "secret-token-of-a").modern_with("tools/call", &back, EVERYTHING).await;
    assert_eq!(refused.text(), "the session script changed while the call waited for your answer; call again");
    assert_eq!(refused.value()["result"]["isError"], true, "{}", refused.raw);
    assert_eq!(world.calls().await, (1, 0));
}

#[tokio::test]
async fn with_another_key_nobody_can_read_the_ticket() {
    let Some(world) = World::new().await else { return };
    let back = accepted(&call(), &world.asked_and_killed().await).to_string();
    let other = world.proxy(NEW, SCRIPT).await;
    let refused = client_of(&other, "secret-token-of-a").modern_with("tools/call", &back, EVERYTHING).await;
    assert_eq!(refused.error_code(), -32602, "{}", refused.raw);
    assert_eq!(world.calls().await, (1, 0));
}
