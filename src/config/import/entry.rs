//! Reads one server of an imported file.

use crate::model::Secret;

use super::{ImportedServer, ImportedTarget, Importer};
use crate::config::sections::server::url_problem;
use crate::config::syntax::tree::{Node, NodeKey, Value};

/// The keys that different programs use for the URL of an HTTP server.
const URL_KEYS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

impl Importer<'_> {
    /// Reads a server; `None` with a warning if it has neither a command nor a usable URL.
    pub(super) fn entry(&mut self, key: &NodeKey, node: &Node) -> Option<ImportedServer> {
        let Value::Map(members) = &node.value else {
            self.warn(format!("skipped `{}`: it is not a server", key.text.escape_debug()), key);
            return None;
        };
        let url = URL_KEYS.iter().find_map(|key| node.get(key)).and_then(text);
        let kind = ["type", "transport"].iter().find_map(|key| node.get(key)).and_then(text);
        let (target, known) = match (node.get("command").and_then(text), url) {
            (Some(command), _) if !command.is_empty() => {
                (command_target(command, node), &["command", "args", "env", "cwd"][..])
            }
            (None, Some(url)) if url.contains("${") || url_problem(&url).is_none() => (
                ImportedTarget::Url { url, headers: pairs(node.get("headers")), sse: kind.as_deref() == Some("sse") },
                &["url", "serverUrl", "httpUrl", "headers"][..],
            ),
            (None, Some(_)) => return self.skip(key, "its URL is not an HTTP URL"),
            _ => return self.skip(key, "it has neither a command nor a URL"),
        };
        self.warn_about_unused(key, members, known);
        let disabled = node.get("disabled").is_some_and(|disabled| disabled.value == Value::Bool(true));
        Some(ImportedServer { name: self.name(key), target, disabled })
    }

    fn skip(&mut self, key: &NodeKey, why: &str) -> Option<ImportedServer> {
        self.warn(format!("skipped `{}`: {why}", key.text.escape_debug()), key);
        None
    }

    /// Warns about keys that are not supported, or that other programs interpret differently, such as `timeout`.
    fn warn_about_unused(&mut self, server: &NodeKey, members: &[(NodeKey, Node)], known: &[&str]) {
        for (key, node) in members {
            let name = key.text.as_str();
            let silent = ["type", "transport", "disabled"].contains(&name) || node.value == Value::Null;
            if !silent && !known.contains(&name) {
                let (server, name) = (server.text.escape_debug(), name.escape_debug());
                self.warn(format!("ignored `{server}.{name}`: it is not supported"), key);
            }
        }
    }
}

fn command_target(command: String, node: &Node) -> ImportedTarget {
    let args = match node.get("args").map(|args| &args.value) {
        Some(Value::List(items)) => items.iter().filter_map(text).collect(),
        _ => Vec::new(),
    };
    ImportedTarget::Command { command, args, env: pairs(node.get("env")), cwd: node.get("cwd").and_then(text) }
}

fn pairs(node: Option<&Node>) -> Vec<(String, Secret)> {
    let Some(Value::Map(entries)) = node.map(|node| &node.value) else { return Vec::new() };
    let pair = |(key, node): &(NodeKey, Node)| Some((key.text.clone(), Secret::new(text(node)?)));
    entries.iter().filter_map(pair).collect()
}

fn text(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) | Value::Block(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
