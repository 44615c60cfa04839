//! Scripts that ask in the middle of a call with `elicit()`: the handler goes on with the answer, in both eras, and
//! nothing that it did before is done twice.

mod answers;
mod changes;
mod depth;
mod many;
mod other_items;
mod progress;
mod replicas;
mod room;
mod tickets;
mod with_servers;

use serde_json::{Value, json};

use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

pub use crate::elicitation::text;

/// What every script here begins with: the tools of the server `fake` by name.
const BEGINNING: &str = "tools = {meta.name: call for meta, call in backends()[\"fake\"].tools()}\n\
    def show(name, handler):\n    publish(metadata(name, \"\", {}, {}), handler)\n\
    show(\"seen\", tools[\"seen\"])\n";

/// A proxy before a server of this era, with this session script.
pub fn world(era: &str, script: &str) -> Proxy {
    let config =
        Config::new().server("fake", &fake_backend(["--era", era])).section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", &format!("{BEGINNING}{script}"))
}

/// A client that can be asked everything.
pub async fn client(script: &str, modern: bool) -> Client {
    Client::at(world("legacy", script), modern, EVERYTHING).await
}

pub fn accept() -> Value {
    json!({"action": "accept", "content": {}})
}

/// How often a text reached the server in calls of tools.
pub async fn reached(client: &mut Client, wanted: &str) -> usize {
    let seen = client.converse("seen", json!({}), json!({})).await.1;
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let calls = messages.iter().filter_map(Value::as_str).filter(|message| message.contains("tools/call"));
    calls.filter(|message| message.contains(wanted)).count()
}

pub fn messages(questions: &[Value]) -> Vec<String> {
    questions.iter().map(|question| question["params"]["message"].as_str().unwrap_or_default().to_owned()).collect()
}
