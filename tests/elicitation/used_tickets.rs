//! A ticket that was used stays used: after a restart, and at every other proxy with the same keys.

use serde_json::{Value, json};

use super::{EVERYTHING, accepted};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::program::{Program, is_gone};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

/// A server that outlives the proxies before it. It is stateless: what it asks, and where it was, is in `requestState`.
struct World {
    server: Program,
    url: String,
    store: String,
}

impl World {
    async fn new(era: &str, store: &str) -> Self {
        let (server, url) = Program::start_server(fake_backend(["--era", era, "--http", "127.0.0.1:0"])).await;
        World { server, url, store: store.to_owned() }
    }

    async fn proxy(&self) -> HttpProxy {
        let config = Config::new()
            .remote("fake", &self.url)
            .section(&format!("store: {{url: '{}'}}", self.store))
            .section("serve: {stateKeys: [the-same-key-of-more-than-thirty-two-bytes]}");
        Proxy::new(&config).http().await
    }

    /// How often the server got an answer.
    async fn answers(&self) -> usize {
        let seen = HttpClient::new(&self.url, self.server.stderr.clone()).modern_call("seen", "{}").await.value();
        let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().filter_map(Value::as_str).filter(|text| text.contains("inputResponses")).count()
    }
}

fn ask() -> Value {
    json!({"name": "ask", "arguments": {"message": "?", "rounds": 1}})
}

async fn call(proxy: &HttpProxy, params: &Value) -> Value {
    proxy.client().modern_with("tools/call", &params.to_string(), EVERYTHING).await.value()
}

async fn killed(proxy: HttpProxy) {
    proxy.program.kill();
    is_gone(proxy.program.id(), &proxy.program.stderr).await;
}

fn refusal(outcome: &Value) -> (i64, &str) {
    (outcome["error"]["code"].as_i64().unwrap_or_default(), outcome["error"]["message"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn with_redis_a_used_ticket_is_refused_after_a_restart_and_at_another_proxy() {
    let Some(redis) = Redis::start().await else { return };
    let world = World::new("modern", &redis.url()).await;
    let (one, two) = (world.proxy().await, world.proxy().await);
    let back = accepted(&ask(), &call(&one, &ask()).await);
    // Any of them may redeem it, once.
    let done = call(&two, &back).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(world.answers().await, 1);
    killed(two).await;
    for proxy in [&one, &world.proxy().await] {
        let again = call(proxy, &back).await;
        let (code, message) = refusal(&again);
        assert!(code == -32602 && message.contains("was already used"), "{again}");
    }
    assert_eq!(world.answers().await, 1, "nothing was answered twice");
}

#[tokio::test]
async fn a_ticket_is_refused_while_nobody_can_tell_whether_it_was_used() {
    let Some(mut redis) = Redis::start().await else { return };
    let world = World::new("modern", &redis.url()).await;
    let proxy = world.proxy().await;
    let back = accepted(&ask(), &call(&proxy, &ask()).await);
    redis.kill();
    let refused = call(&proxy, &back).await;
    let (code, message) = refusal(&refused);
    assert!(code == -32603 && message.contains("cannot check whether `requestState` was used"), "{refused}");
    assert_eq!(world.answers().await, 0);
    redis.again().await;
    let done = call(&proxy, &back).await;
    assert_eq!(done["result"]["resultType"], "complete", "the refusal did not use it up: {done}");
}

#[tokio::test]
async fn without_redis_a_ticket_belongs_to_the_process_that_issued_it_whatever_the_keys() {
    // A stateless server's own state, and a call that waits in the proxy.
    for era in ["modern", "legacy"] {
        let world = World::new(era, "memory://").await;
        let (one, two) = (world.proxy().await, world.proxy().await);
        let back = accepted(&ask(), &call(&one, &ask()).await);
        let foreign = call(&two, &back).await;
        let (code, message) = refusal(&foreign);
        assert!(code == -32602 && message.contains("another proxy process"), "{era}: {foreign}");
        let done = call(&one, &back).await;
        assert_eq!(done["result"]["resultType"], "complete", "{era}: {done}");
        killed(one).await;
        let again = call(&world.proxy().await, &back).await;
        assert_eq!(refusal(&again).0, -32602, "{era}: {again}");
    }
}

#[tokio::test]
async fn with_redis_a_call_that_waits_in_one_process_is_answered_at_another_once() {
    let Some(redis) = Redis::start().await else { return };
    let world = World::new("legacy", &redis.url()).await;
    let (one, two) = (world.proxy().await, world.proxy().await);
    let (of_one, of_two) = (call(&one, &ask()).await, call(&two, &ask()).await);
    for (proxy, first) in [(&two, &of_one), (&one, &of_two)] {
        let back = accepted(&ask(), first);
        let done = call(proxy, &back).await;
        assert_eq!(done["result"]["resultType"], "complete", "{done}");
        for proxy in [&one, &two] {
            let again = call(proxy, &back).await;
            assert!(refusal(&again).1.contains("was already used"), "{again}");
        }
    }
}
