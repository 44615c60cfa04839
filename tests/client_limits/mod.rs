//! What a client accepts decides in which form it gets tools: shorter names, simpler schemas, fewer tools. Behind the proxy
//! everything has the names that are published.

mod check;
mod data_set;
mod headers;
mod hostile;
mod names;
mod optimizer;
mod real;
mod real_programs;
mod replicas;
mod schemas;
mod told;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, with_meta};
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;
use crate::support::temp_dir::TempDir;

/// A server with these tools, each of which answers "done", and with `seen`, which tells what the server got.
fn server(directory: &TempDir, tools: &[Value]) -> std::process::Command {
    let answers: serde_json::Map<String, Value> = tools
        .iter()
        .map(|tool| {
            (
                tool["name"].as_str().expect("a tool has a name").to_owned(),
                json!({"content": [{"type": "text", "text": "done"}]}),
            )
        })
        .collect();
    let tools = directory.write("tools.json", &Value::from(tools).to_string());
    let results = directory.write("results.json", &Value::from(answers).to_string());
    let files = [tools, results].map(|path| path.display().to_string());
    fake_backend(["--tools", &files[0], "--results", &files[1], "--builtin", "--only", "seen"])
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "description": "Does it.", "inputSchema": schema})
}

const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

/// A proxy of this server that publishes every name as it is.
fn start(directory: &TempDir, tools: &[Value], section: &str) -> StdioProxy {
    Proxy::new(&Config::new().server("fake", &server(directory, tools)).section(PASSTHROUGH).section(section)).stdio()
}

/// Opens a session as this client.
async fn introduce(client: &mut StdioClient, name: &str) {
    let params = message::initialize_params("2025-11-25", "{}").replace("test-client", name);
    client.request("initialize", &params).await.result();
    client.notify("notifications/initialized", "{}").await;
}

/// A request without a session, by this client.
async fn stateless(client: &mut StdioClient, name: &str, method: &str, params: &str) -> Message {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    );
    client.request(method, &with_meta(params, &meta)).await
}

async fn listed(client: &mut StdioClient) -> Vec<Value> {
    let answer = client.request("tools/list", "{}").await.value();
    answer["result"]["tools"].as_array().cloned().unwrap_or_default()
}

fn named<'a>(tools: &'a [Value], beginning: &str) -> &'a Value {
    let found = tools.iter().find(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with(beginning)));
    found.unwrap_or_else(|| panic!("no {beginning}: {tools:?}"))
}

/// The last call that the server got: the tool and its arguments.
async fn received(client: &mut StdioClient) -> (String, Value) {
    let seen = client.call("seen", "{}").await.value();
    let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
    let calls = messages.iter().filter_map(|message| serde_json::from_str::<Value>(message.as_str()?).ok());
    let mut calls = calls.filter(|call| call["method"] == "tools/call" && call["params"]["name"] != "seen");
    let last = calls.next_back().unwrap_or_else(|| panic!("no call: {seen}"));
    (last["params"]["name"].as_str().expect("a call names its tool").to_owned(), last["params"]["arguments"].clone())
}

const LONG: &str = "a_very_long_name_of_a_tool_that_no_client_accepts_as_it_is";
