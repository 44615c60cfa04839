//! A proxy config in the making: servers as commands, everything else as text.

use std::process::Command;

use serde_json::{Map, Value, json};

#[derive(Clone, Debug, Default)]
pub struct Config {
    servers: Map<String, Value>,
    sections: String,
}

impl Config {
    pub fn new() -> Self {
        Self::default()
    }

    /// A server that the proxy starts.
    pub fn server(self, name: &str, command: &Command) -> Self {
        self.server_with(name, command, json!({}))
    }

    /// The same with more keys of a server entry, such as `timeout`.
    pub fn server_with(mut self, name: &str, command: &Command, more: Value) -> Self {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        let mut entry = json!({"command": command.get_program().to_string_lossy(), "args": arguments});
        let variables = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let variables: Map<_, _> = variables.map(|(name, value)| (name.to_owned(), value.into())).collect();
        if !variables.is_empty() {
            entry["env"] = Value::Object(variables);
        }
        self.servers.insert(name.to_owned(), merged(entry, more));
        self
    }

    /// A server that already listens somewhere.
    pub fn remote(self, name: &str, url: &str) -> Self {
        self.remote_with(name, url, json!({}))
    }

    pub fn remote_with(mut self, name: &str, url: &str, more: Value) -> Self {
        self.servers.insert(name.to_owned(), merged(json!({"url": url}), more));
        self
    }

    /// More of the file, as YAML.
    pub fn section(mut self, yaml: &str) -> Self {
        self.sections.push_str(yaml);
        self.sections.push('\n');
        self
    }

    /// JSON is YAML, so servers need no quoting rules of their own.
    pub fn text(&self) -> String {
        let servers =
            if self.servers.is_empty() { String::new() } else { format!("mcpServers: {}\n", json!(self.servers)) };
        servers + &self.sections
    }
}

fn merged(entry: Value, more: Value) -> Value {
    let (Value::Object(mut entry), Value::Object(more)) = (entry, more) else { panic!("a server entry is an object") };
    entry.extend(more);
    Value::Object(entry)
}
