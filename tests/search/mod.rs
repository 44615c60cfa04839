//! `find_tool`, `describe_tool` and `call_tool` instead of all tools, through the real program; and `proxy find`.

mod builtin_model;
mod command;
mod compact;
mod explained_calls;
mod finding;
mod meaning;
mod odd_input;
mod real;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// A tool of the file that the fake server lists.
fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}})
}

/// A proxy before one server, `desk`, with these tools and `add_tool`.
fn world(tools: &[Value], sections: &str) -> Proxy {
    let proxy = Proxy::with_config_text("");
    let file = proxy.directory.write("tools.json", &json!(tools).to_string());
    let command = fake_backend(["--tools", file.to_str().expect("a path"), "--builtin", "--only", "echo,add_tool"]);
    proxy.directory.write("proxy.yaml", &Config::new().server("desk", &command).section(sections).text());
    proxy
}

fn desk() -> Vec<Value> {
    vec![
        tool("create_ticket", "Opens a new ticket in the issue tracker."),
        tool("sendEmail", "Sends an electronic message to a person."),
        tool("weather-forecast", "Tells the weather of the coming days for a city."),
    ]
}

/// The tools of the optimizer, by words and meaning.
const PRESET: &str = "sessionInit: { preset: optimizer@1 }";

/// The same by words alone.
const OPTIMIZED: &str = "sessionInit: { preset: optimizer@1 }\noptimizer: { embedding: { provider: none } }";

async fn started(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

impl StdioProxy {
    /// What `find_tool` says to a description.
    async fn find(&mut self, description: &str) -> Value {
        let arguments = json!({"tool_description": description}).to_string();
        let answer = self.client.call("find_tool", &arguments).await;
        serde_json::from_str(&answer.structured()).expect("structured content is JSON")
    }
}

fn names(found: &Value) -> Vec<&str> {
    let tools = found["tools"].as_array().unwrap_or_else(|| panic!("no tools in {found}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or("?")).collect()
}

fn is_error(answer: &Message) -> bool {
    answer.value()["result"]["isError"] == true
}
