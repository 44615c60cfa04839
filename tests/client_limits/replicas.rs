//! Several proxies before the same server: a name in a client's list means the same at each of them.

use serde_json::{Value, json};

use super::{LONG, named, tool};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members};
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;
use crate::support::temp_dir::TempDir;

const KEY: &str = "serve: {stateKeys: [the-same-key-of-more-than-thirty-two-bytes]}";
const CLIENT: &str = "claude-code";

/// The tool with the long name asks before it calls the server.
const SCRIPT: &str = r#"
def confirmed(name, call):
    def handler(args):
        answer = elicit("Call `%s`?" % name, when_unavailable = "accept")
        return call(args) if answer.action == "accept" else error("not confirmed")
    return handler

for meta, call in backends()["fake"].tools():
    publish(meta, call if meta.name == "seen" else confirmed(meta.name, call))
"#;

async fn replica(redis: &Redis, directory: &TempDir) -> HttpProxy {
    let schema = json!({"type": "object", "properties": {"$.region": {"type": "string"}}});
    let done = json!({ LONG: {"content": [{"type": "text", "text": "done"}]} });
    let tools = directory.write("tools.json", &json!([tool(LONG, schema)]).to_string()).display().to_string();
    let results = directory.write("results.json", &done.to_string()).display().to_string();
    let flags = ["--era", "legacy", "--tools", &tools, "--results", &results, "--builtin", "--only", "seen"];
    let config = Config::new()
        .server("fake", &fake_backend(flags))
        .section(&format!("store: {{url: '{}'}}", redis.url()))
        .section("sessionInit: {scriptFile: policy.star}")
        .section(KEY);
    let mut proxy = Proxy::new(&config).file("policy.star", SCRIPT).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    proxy
}

/// A request without a session, by a client that can be asked.
async fn stateless(client: &HttpClient, method: &str, params: &Value) -> Message {
    let members = meta_members(VERSION, r#"{"elicitation":{"form":{}}}"#).replace("test-client", CLIENT);
    let request = HttpRequest::modern_with_meta("1", method, &params.to_string(), &format!("{{{members}}}"));
    client.send(&request).await.response().await
}

/// The short names of the tool and of its argument.
fn short_names(list: &Message) -> (String, String) {
    let tools = list.value()["result"]["tools"].as_array().cloned().unwrap_or_default();
    let found = named(&tools, "a_very_long");
    let properties = found["inputSchema"]["properties"].as_object().expect("properties");
    let argument = properties.keys().next().expect("an argument");
    (found["name"].as_str().expect("a name").to_owned(), argument.clone())
}

/// What reached the process of a server that says this: the arguments of the calls of its tool.
fn received(seen: &Message) -> Vec<Value> {
    let seen = seen.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let calls = messages.iter().filter_map(|message| serde_json::from_str::<Value>(message.as_str()?).ok());
    let own = calls.filter(|call| call["params"]["name"] == LONG);
    own.map(|call| call["params"]["arguments"].clone()).collect()
}

#[tokio::test]
async fn a_short_name_listed_by_one_proxy_is_known_to_the_other_in_both_eras() {
    let Some(redis) = Redis::start().await else { return };
    let directory = TempDir::new();
    let one = replica(&redis, &directory).await;
    let two = replica(&redis, &directory).await;

    // Given a session that has listed at one proxy
    let mut here = one.client();
    here.initialize_as("2025-11-25", CLIENT).await.result();
    let (name, argument) = short_names(&here.request("tools/list", "{}").await);
    assert_ne!((name.as_str(), argument.as_str()), (LONG, "$.region"));
    let arguments = |region: &str| json!({ argument.as_str(): region });
    // When it calls at the other, then that is the tool, and its lists are the same
    let mut there = here.moved_to(&two.url, &two.program.stderr);
    assert_eq!(there.call(&name, &arguments("session").to_string()).await.text(), "done");
    assert_eq!(received(&there.call("seen", "{}").await), [json!({"$.region": "session"})]);
    assert_eq!(short_names(&there.request("tools/list", "{}").await), (name.clone(), argument.clone()));

    // Given a stateless client that is asked at one proxy, whether it uses short or whole names
    let here = one.client();
    let there = two.client();
    let short = json!({"name": name, "arguments": arguments("stateless")});
    let seen = json!({"name": "seen", "arguments": {}});
    let whole = json!({"name": LONG, "arguments": {"$.region": "stateless"}});
    for (first, then) in [(&short, &short), (&short, &whole), (&whole, &short)] {
        let before = received(&stateless(&there, "tools/call", &seen).await).len();
        let asked = stateless(&here, "tools/call", first).await.value();
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert!(asked.to_string().contains(&format!("Call `{LONG}`?")), "{asked}");
        // When it answers at the other, then the call goes on, as it is the same one
        let mut again = crate::elicitation::accepted(&whole, &asked);
        for (member, value) in then.as_object().expect("params") {
            again[member] = value.clone();
        }
        let answer = stateless(&there, "tools/call", &again).await;
        assert_eq!(answer.text(), "done", "{}", answer.raw);
        let after = received(&stateless(&there, "tools/call", &seen).await);
        assert_eq!((after.len(), after.last()), (before + 1, Some(&json!({"$.region": "stateless"}))));
    }
    // A client of another row does not know the name.
    let call = message::call(&name, "{}");
    let foreign = there.send(&HttpRequest::modern("1", "tools/call", &call)).await.response().await;
    assert_eq!(foreign.error_code(), -32602, "{}", foreign.raw);
}
