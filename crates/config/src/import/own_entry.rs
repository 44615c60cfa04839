//! How a client holds the proxy as one of its servers.

use serde_json::{Value as Json, json};

#[derive(Clone, Copy, Debug)]
pub struct OwnEntry {
    /// The keys that lead to the map of servers.
    pub section: &'static [&'static str],
    pub form: EntryForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm {
    /// `command` and `args`.
    Plain,
    /// The same with `"type": "stdio"`.
    Typed,
    /// The same with `"source": "custom"`, which Zed wrote itself for long.
    Custom,
    /// opencode: a list with the program and its arguments.
    Local,
}

impl OwnEntry {
    /// The entry that starts a command.
    pub fn value(&self, words: &[String]) -> Json {
        let Some((command, args)) = words.split_first() else { return Json::Null };
        match self.form {
            EntryForm::Plain => json!({"command": command, "args": args}),
            EntryForm::Typed => json!({"type": "stdio", "command": command, "args": args}),
            EntryForm::Custom => json!({"source": "custom", "command": command, "args": args}),
            EntryForm::Local => json!({"type": "local", "command": words, "enabled": true}),
        }
    }
}
