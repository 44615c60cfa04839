//! Reads one server of an imported file.

use std::path::Path;

use super::client::{TimeKey, Unit};
use super::members::{EntryMembers, Member, plain_text};
use super::variables::Syntax;
use super::{ImportedCommand, ImportedServer, ImportedTarget, ImportedText, Importer, Restriction};
use crate::sections::url::url_problem;
use crate::syntax::tree::{Node, NodeKey, Value};

/// The keys that different programs use for the same thing.
const COMMAND: [&str; 2] = ["command", "cmd"];
const ENV: [&str; 3] = ["env", "environment", "envs"];
const URL: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];
const HEADERS: [&str; 2] = ["headers", "http_headers"];
const KIND: [&str; 3] = ["type", "transport", "transportType"];

/// The kinds of servers that are part of the other program.
const BUILT_IN: [&str; 5] = ["builtin", "platform", "frontend", "inline_python", "sdk"];

impl Importer<'_> {
    /// Reads a server; `None` with a warning if it has neither a command nor a usable URL.
    pub(super) fn entry(&mut self, key: &NodeKey, node: &Node) -> Option<ImportedServer> {
        let Value::Map(entries) = &node.value else {
            self.expected(&key.text.escape_debug().to_string(), node, "a map with the keys of a server");
            return None;
        };
        let mut members = EntryMembers::of(&key.text, entries);
        let kind = members.take(&KIND).and_then(|member| plain_text(member.node));
        if let Some(kind) = kind.as_deref().filter(|kind| BUILT_IN.contains(kind)) {
            return self.skip(key, &format!("it is part of {} (`{kind}`)", self.client.title));
        }
        if matches!(kind.as_deref(), Some("ws" | "websocket")) {
            return self.skip(key, "it speaks WebSocket, which the proxy does not");
        }
        let command = members.take(&COMMAND);
        let url = members.take(&URL);
        let target = match (command, url) {
            (Some(command), url) => {
                if let Some(url) = url {
                    self.warn(format!("ignored `{}`: there is a command", members.path(&url)), url.key);
                }
                let command = self.command(&mut members, &command)?;
                if is_this_proxy(&command) {
                    return self.skip(key, "it is this proxy, which would start itself");
                }
                if is_mcp_remote(&command) {
                    let hint = "with its URL as `url`, the proxy connects by itself, and `proxy login NAME` logs in";
                    self.warn(format!("`{}` runs `mcp-remote`: {hint}", key.text.escape_debug()), key);
                }
                ImportedTarget::Command(command)
            }
            (None, Some(url)) => self.url(key, &mut members, &url, kind.as_deref() == Some("sse"))?,
            (None, None) if members.take(&["settings"]).is_some() => {
                return self.skip(key, &format!("its command comes from an extension of {}", self.client.title));
            }
            (None, None) => {
                let (disabled, tools) = (self.is_disabled(&mut members), self.tools(&mut members));
                self.restrictions.push(Restriction { server: key.text.clone(), disabled, tools });
                return self.skip(key, "it has neither a command nor a URL");
            }
        };
        let mut server = ImportedServer {
            name: self.name(key),
            target,
            disabled: self.is_disabled(&mut members),
            required: false,
            timeout: None,
            start_timeout: None,
            tools: self.tools(&mut members),
        };
        if let Some(required) = members.take(&["required"]) {
            let path = members.path(&required);
            server.required = self.boolean(&path, required.node).unwrap_or_default();
        }
        self.timeouts(&mut members, &mut server);
        server.disabled |= self.leftover(members);
        Some(server)
    }

    pub(super) fn skip<T>(&mut self, key: &NodeKey, why: &str) -> Option<T> {
        self.warn(format!("skipped `{}`: {why}", key.text.escape_debug()), key);
        None
    }

    fn is_disabled(&mut self, members: &mut EntryMembers) -> bool {
        let mut disabled = false;
        for (name, when) in [("disabled", true), ("enabled", false), ("isActive", false)] {
            if let Some(member) = members.take(&[name]) {
                let path = members.path(&member);
                disabled |= self.boolean(&path, member.node) == Some(when);
            }
        }
        disabled
    }

    fn command(&mut self, members: &mut EntryMembers, command: &Member) -> Option<ImportedCommand> {
        let path = members.path(command);
        // opencode has the arguments in the same list.
        let mut words = match &command.node.value {
            Value::List(_) => self.strings(&path, command.node),
            _ => self.string(&path, command.node).into_iter().collect(),
        };
        if words.first().is_none_or(String::is_empty) {
            if self.errors.is_empty() {
                self.expected(&path, command.node, "the name of a program");
            }
            return None;
        }
        let program = words.remove(0);
        if let Some(args) = members.take(&["args"]) {
            let path = members.path(&args);
            words.extend(self.strings(&path, args.node));
        }
        let command_text = self.path_text(&path, command.key, &program, program.contains('/'));
        let args = words.iter().map(|word| self.text(&path, command.key, word)).collect();
        let mut env = Vec::new();
        while let Some(member) = members.take(&ENV) {
            let path = members.path(&member);
            for (name, value) in self.pairs(&path, member.node) {
                let value = self.text(&format!("{path}.{}", name.text.escape_debug()), name, &value);
                set(&mut env, &name.text, value);
            }
        }
        self.goose_secrets(members, &mut env);
        let inherit_env = self.inherited(members);
        let env_file = members.take(&["envFile"]).and_then(|member| self.member_path(members, &member));
        let cwd = members.take(&["cwd"]).and_then(|member| self.member_path(members, &member));
        let cwd = cwd.or_else(|| {
            let folder = self.workspace.to_string_lossy().into_owned();
            (self.is_project && self.client.runs_in_project).then(|| self.literal(&folder))
        });
        Some(ImportedCommand { command: command_text, args, env, env_file, inherit_env, cwd })
    }

    /// The variables whose values goose keeps in its keyring.
    fn goose_secrets(&mut self, members: &mut EntryMembers, env: &mut Vec<(String, ImportedText)>) {
        let Some(member) = members.take(&["env_keys"]) else { return };
        let path = members.path(&member);
        for name in self.strings(&path, member.node) {
            if env.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let note = format!("goose keeps this value in its keyring: set the environment variable {name}");
            let text = ImportedText { written: String::new(), text: format!("${{{name}}}"), notes: vec![note] };
            env.push((name, text));
        }
    }

    /// The variables of its own environment that Codex passes on.
    fn inherited(&mut self, members: &mut EntryMembers) -> Vec<String> {
        let Some(member) = members.take(&["env_vars"]) else { return Vec::new() };
        let path = members.path(&member);
        let Value::List(items) = &member.node.value else {
            self.expected(&path, member.node, "a list of names");
            return Vec::new();
        };
        let name = |item: &Node| plain_text(item).or_else(|| plain_text(item.get("name")?));
        items.iter().filter_map(name).collect()
    }

    fn url(&mut self, key: &NodeKey, members: &mut EntryMembers, url: &Member, sse: bool) -> Option<ImportedTarget> {
        let path = members.path(url);
        let written = self.string(&path, url.node)?;
        let before = self.goose_variables(members);
        let text = self.text(&path, url.key, &written);
        if !text.text.contains("${") && url_problem(&text.text.replace("$$", "$")).is_some() {
            return self.skip(key, "its URL is not an HTTP URL");
        }
        let mut headers = Vec::new();
        while let Some(member) = members.take(&HEADERS) {
            self.headers(&members.path(&member), member.node, &mut headers);
        }
        if let Some(member) = members.take(&["requestOptions"]) {
            let path = members.path(&member);
            let Value::Map(options) = &member.node.value else {
                self.expected(&path, member.node, "a map");
                return None;
            };
            for (key, node) in options {
                match key.text.as_str() {
                    "headers" => self.headers(&format!("{path}.headers"), node, &mut headers),
                    name => {
                        let name = name.escape_debug();
                        self.warn(format!("ignored `{path}.{name}`: it is not supported"), key);
                    }
                }
            }
        }
        self.credentials(members, &mut headers);
        self.variables = before;
        Some(ImportedTarget::Url { url: text, headers, sse })
    }

    /// In goose, addresses and headers contain variables of the entry's own `envs` and of the keyring.
    fn goose_variables(&mut self, members: &mut EntryMembers) -> super::variables::Variables {
        let before = self.variables.clone();
        if self.client.name == "goose" {
            self.variables.syntax = Syntax::SHELL;
            if let Some(member) = members.take(&["envs"]) {
                let path = members.path(&member);
                let pairs = self.pairs(&path, member.node);
                self.variables.local = pairs.into_iter().map(|(key, value)| (key.text.clone(), value)).collect();
            }
            members.take(&["env_keys"]);
        }
        before
    }

    fn headers(&mut self, path: &str, node: &Node, headers: &mut Vec<(String, ImportedText)>) {
        for (name, value) in self.pairs(path, node) {
            let value = self.text(&format!("{path}.{}", name.text.escape_debug()), name, &value);
            set(headers, &name.text, value);
        }
    }

    /// Headers whose values other keys give: tokens, and names of environment variables.
    fn credentials(&mut self, members: &mut EntryMembers, headers: &mut Vec<(String, ImportedText)>) {
        let variable = |name: &str, before: &str| ImportedText {
            written: String::new(),
            text: format!("{before}${{{name}}}"),
            notes: Vec::new(),
        };
        if let Some(member) = members.take(&["env_http_headers"]) {
            let path = members.path(&member);
            let pairs = self.pairs(&path, member.node);
            pairs.into_iter().for_each(|(key, name)| set(headers, &key.text, variable(&name, "")));
        }
        if let Some(member) = members.take(&["bearer_token_env_var"]) {
            let path = members.path(&member);
            if let Some(name) = self.string(&path, member.node) {
                set(headers, "Authorization", variable(&name, "Bearer "));
            }
        }
        if let Some(member) = members.take(&["apiKey"]) {
            let path = members.path(&member);
            if let Some(key) = self.string(&path, member.node) {
                let value = self.text(&path, member.key, &format!("Bearer {key}"));
                set(headers, "Authorization", value);
            }
        }
    }

    fn timeouts(&mut self, members: &mut EntryMembers, server: &mut ImportedServer) {
        for (name, key) in [
            ("startup_timeout_ms", TimeKey::Start(Unit::Milliseconds)),
            ("startup_timeout_sec", TimeKey::Start(Unit::Seconds)),
            ("tool_timeout_sec", TimeKey::Request(Unit::Seconds)),
            ("connectionTimeout", TimeKey::Start(Unit::Milliseconds)),
        ] {
            if let Some(member) = members.take(&[name]) {
                let path = members.path(&member);
                self.time(&path, member.node, key, server);
            }
        }
        let Some(member) = members.take(&["timeout"]) else { return };
        let path = members.path(&member);
        match (&member.node.value, self.client.timeout) {
            // The newer form of opencode.
            (Value::Map(parts), _) => {
                for (key, node) in parts {
                    let path = format!("{path}.{}", key.text.escape_debug());
                    match key.text.as_str() {
                        "startup" => self.time(&path, node, TimeKey::Start(Unit::Milliseconds), server),
                        "request" => self.time(&path, node, TimeKey::Request(Unit::Milliseconds), server),
                        _ => self.warn(format!("ignored `{path}`: it is not supported"), key),
                    }
                }
            }
            (_, Some(key)) => self.time(&path, member.node, key, server),
            (Value::Number(number), None) => {
                let problem = "it is not known whether this client means seconds or milliseconds";
                let message = format!("`{path}` was not taken over: {problem}; write `timeout: {number}s` if seconds");
                self.warn(message, member.key);
            }
            (_, None) => self.expected(&path, member.node, "a number"),
        }
    }

    fn time(&mut self, path: &str, node: &Node, key: TimeKey, server: &mut ImportedServer) {
        match key {
            TimeKey::Request(unit) => server.timeout = self.duration(path, node, unit),
            TimeKey::Start(unit) => server.start_timeout = self.duration(path, node, unit),
        }
    }

    fn member_path(&mut self, members: &EntryMembers, member: &Member) -> Option<ImportedText> {
        let path = members.path(member);
        let written = self.string(&path, member.node).filter(|written| !written.is_empty())?;
        Some(self.path_text(&path, member.key, &written, true))
    }

    /// A path. A relative one is relative to the folder that the other program works in, not to that of our config.
    fn path_text(&mut self, path: &str, key: &NodeKey, written: &str, is_path: bool) -> ImportedText {
        let mut text = self.text(path, key, written);
        if let Some(below_home) = text.text.strip_prefix("~/").filter(|_| is_path) {
            text.text = format!("${{HOME}}/{below_home}");
        } else if is_path
            && Path::new(written).is_relative()
            && !text.text.starts_with('$')
            && !text.text.starts_with('/')
        {
            let folder = self.workspace.to_string_lossy().replace('$', "$$");
            let below = text.text.strip_prefix("./").unwrap_or(&text.text);
            text.text = format!("{}/{below}", folder.trim_end_matches('/'));
        }
        text
    }

    fn literal(&self, text: &str) -> ImportedText {
        ImportedText { written: text.to_owned(), text: text.replace('$', "$$"), notes: Vec::new() }
    }
}

/// Sets a value, which replaces an earlier one of the same name.
fn set(values: &mut Vec<(String, ImportedText)>, name: &str, value: ImportedText) {
    values.retain(|(known, _)| known != name);
    values.push((name.to_owned(), value));
}

/// Whether a command starts this proxy, which clients that use it have among their servers.
/// Whether a command connects to a URL in the place of a client that cannot do so or cannot log in.
fn is_mcp_remote(command: &ImportedCommand) -> bool {
    // `mcp-remote@1.2.3` is a version of it.
    let is_name = |word: &str| word.split('@').next() == Some("mcp-remote");
    let program = Path::new(&command.command.written).file_name().and_then(|name| name.to_str());
    program.is_some_and(is_name) || command.args.iter().any(|argument| is_name(&argument.written))
}

fn is_this_proxy(command: &ImportedCommand) -> bool {
    let program = Path::new(&command.command.written).file_name();
    program.is_some_and(|name| name == "proxy") && command.args.iter().any(|argument| argument.written == "serve")
}
