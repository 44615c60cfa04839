//! Code mode through the real program: a model's script calls published tools, and nothing else.

mod bombs;
mod calls;
mod real;
mod shares;
mod workers;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// The preset over one server, with these keys of `codeMode`.
fn world(tools: &str, code_mode: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", tools]))
        .section("sessionInit: { preset: code-mode }")
        .section(&format!("codeMode: {{ {code_mode} }}"));
    Proxy::new(&config)
}

/// The same with a session script instead.
fn scripted(tools: &str, script: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", tools]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

async fn started(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

async fn run(proxy: &mut StdioProxy, script: &str) -> Message {
    let arguments = json!({"script": script}).to_string();
    proxy.client.call("execute_tool_script", &arguments).await
}

/// What a script returned.
fn returned(answer: &Message) -> Value {
    let result = &answer.value()["result"];
    assert_ne!(result["isError"], true, "{}", answer.raw);
    result["structuredContent"]["result"].clone()
}

/// What a script failed with.
fn failure(answer: &Message) -> String {
    assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
    answer.text()
}
