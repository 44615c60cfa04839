//! Rules about what a conversation may send out once it has read labelled items. Each call is harmless; the sequence is
//! stopped in its middle, whatever way it takes and whoever makes the calls.

mod asking;
mod author;
mod between_calls;
mod exfiltration;
mod memory;
mod ordinary_day;
mod other_requests;
mod owners;
mod pages;
mod replicas;
mod sdk;
mod shared_server;

use std::path::Path;

use serde_json::{Value, json};

use crate::elicitation::{Client, EVERYTHING};
use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

/// `fetch` deals with strangers and only reads, `read_vault` has secrets, `send_mail` says nothing, `note` stays inside.
fn tools() -> Value {
    let tool = |name: &str, annotations: Value| {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        json!({"name": name, "inputSchema": schema, "annotations": annotations})
    };
    json!([
        tool("fetch", json!({"readOnlyHint": true, "openWorldHint": true})),
        tool("read_vault", json!({"openWorldHint": false})),
        tool("send_mail", json!({})),
        tool("note", json!({"openWorldHint": false})),
    ])
}

const LABELS: &str = "  labels:\n  - {name: read_vault, labels: [secret]}\n";
const PASSTHROUGH: &str = "sessionInit: { preset: passthrough@1 }";

/// A rule against the lethal combination.
fn rules(action: &str) -> String {
    format!("flow:\n{LABELS}  rules:\n  - {{when: [untrusted, secret], then: egress, do: {action}}}\n")
}

/// A proxy with these sections in front of one server of this era. The folder with its tools has to outlive the proxy.
fn world(era: &str, more: &[&str], sections: &[&str]) -> (Proxy, TempDir) {
    let folder = TempDir::new();
    let file = folder.write("tools.json", &tools().to_string());
    let arguments = ["--era", era, "--tools", file.to_str().expect("a path"), "--builtin"];
    let config = Config::new().server("fake", &fake_backend(arguments.iter().chain(more).copied()));
    let config = sections.iter().fold(config, |config, section| config.section(section));
    (Proxy::new(&config), folder)
}

/// A client that can be asked everything, of one era.
struct Conversation {
    client: Client,
    _folder: TempDir,
}

impl Conversation {
    async fn at((proxy, folder): (Proxy, TempDir), modern: bool) -> Self {
        Conversation { client: Client::at(proxy, modern, EVERYTHING).await, _folder: folder }
    }

    async fn with(modern: bool, sections: &[&str]) -> Self {
        Self::at(world("legacy", &[], sections), modern).await
    }

    /// Calls a tool; nothing is asked.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let (questions, outcome) = self.client.converse(tool, arguments, json!({"action": "decline"})).await;
        assert_eq!(questions, Vec::<Value>::new());
        outcome
    }

    /// Calls a tool that must succeed.
    async fn passes(&mut self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments).await;
        assert!(outcome["result"].is_object() && outcome["result"]["isError"] != true, "{outcome}");
        outcome
    }

    /// Calls a tool that must be stopped; the text of the answer.
    async fn stopped(&mut self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert_eq!(outcome["result"]["isError"], true, "{outcome}");
        crate::elicitation::text(&outcome)
    }

    /// How often a text reached the server in a request.
    async fn reached(&mut self, wanted: &str) -> usize {
        let seen = self.client.converse("seen", json!({}), json!({})).await.1;
        let messages = seen["result"]["structuredContent"]["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().filter_map(Value::as_str).filter(|message| message.contains(wanted)).count()
    }

    /// The same, once it has.
    async fn waits_for(&mut self, wanted: &str) -> usize {
        self.call("seen", json!({ "wait_for": wanted })).await;
        // Beside the request to wait for it.
        self.reached(wanted).await - 1
    }
}

/// The first line of an audit log that holds this text, once it is there.
async fn audited(log: &Path, wanted: &str) -> Value {
    loop {
        let lines = std::fs::read_to_string(log).unwrap_or_default();
        // The last line may not be whole yet.
        let whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        if let Some(line) = whole.into_iter().find(|line| line.contains(wanted)) {
            return serde_json::from_str(line).expect("a line of JSON");
        }
        tokio::task::yield_now().await;
    }
}

fn text(value: &str) -> Value {
    json!({ "text": value })
}
