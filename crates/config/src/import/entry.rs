//! Reads one server of an imported file.

use std::path::Path;

use super::client::{TimeKey, Unit};
use super::members::{EntryMembers, Member, plain_text};
use super::variables::{NeededVariable, Syntax};
use super::{ImportedCommand, ImportedServer, ImportedTarget, ImportedText, Importer, Restriction};
use crate::entries::is_this_proxy;
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
        let entry = Member { name: &key.text, path: key.text.escape_debug().to_string(), key, node };
        let Some(members) = entry.members() else {
            self.expected(&entry, "a map with the keys of a server");
            return None;
        };
        let mut members = EntryMembers::of(entry.path, members);
        let kind = members.take(&KIND).and_then(|member| plain_text(member.node));
        if let Some(kind) = kind.as_deref().filter(|kind| BUILT_IN.contains(kind)) {
            return self.skip(key, &format!("it is part of {} (`{kind}`)", self.client.title));
        }
        if matches!(kind.as_deref(), Some("ws" | "websocket")) {
            return self.skip(key, "the proxy does not support WebSocket");
        }
        let command = members.take(&COMMAND);
        let url = members.take(&URL);
        let target = match (command, url) {
            (Some(command), url) => {
                if let Some(url) = url {
                    self.warn(format!("ignored `{}`: the server has a command", url.path), url.key);
                }
                let command = self.command(&mut members, &command)?;
                let words = std::iter::once(&command.command).chain(&command.args);
                if is_this_proxy(words.map(|word| word.written.as_str())) {
                    return self.skip(key, "it is this proxy, which would start itself");
                }
                if is_mcp_remote(&command) {
                    let hint =
                        "the proxy can connect by itself: set `url` to its URL, and log in with `proxy login NAME`";
                    self.warn(format!("`{}` runs `mcp-remote`: {hint}", key.text.escape_debug()), key);
                }
                ImportedTarget::Command(Box::new(command))
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
            server.required = self.boolean(&required).unwrap_or_default();
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
                disabled |= self.boolean(&member) == Some(when);
            }
        }
        disabled
    }

    fn command(&mut self, members: &mut EntryMembers, command: &Member) -> Option<ImportedCommand> {
        // opencode has the arguments in the same list.
        let mut words = match &command.node.value {
            Value::List(_) => self.strings(command),
            _ => self.string(command).into_iter().collect(),
        };
        if words.first().is_none_or(String::is_empty) {
            if self.errors.is_empty() {
                self.expected(command, "the name of a program");
            }
            return None;
        }
        let program = words.remove(0);
        if let Some(args) = members.take(&["args"]) {
            words.extend(self.strings(&args));
        }
        let command_text = self.path_text(command, &program, program.contains('/'));
        let args = words.iter().map(|word| self.text(command, word)).collect();
        let mut env = Vec::new();
        while let Some(member) = members.take(&ENV) {
            self.texts(&member, &mut env);
        }
        self.goose_secrets(members, &mut env);
        let inherit_env = self.inherited(members);
        let env_file = members.take(&["envFile"]).and_then(|member| self.member_path(&member));
        let cwd = members.take(&["cwd"]).and_then(|member| self.member_path(&member));
        let cwd = cwd.or_else(|| {
            let folder = self.workspace.to_string_lossy().into_owned();
            (self.is_project && self.client.runs_in_project).then(|| self.literal(&folder))
        });
        Some(ImportedCommand { command: command_text, args, env, env_file, inherit_env, cwd })
    }

    /// The variables whose values goose keeps in its keyring.
    fn goose_secrets(&mut self, members: &mut EntryMembers, env: &mut Vec<(String, ImportedText)>) {
        let Some(member) = members.take(&["env_keys"]) else { return };
        for name in self.strings(&member) {
            if env.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let note = format!("goose keeps this value in its keyring: set the environment variable {name}");
            let text = ImportedText {
                text: format!("${{{name}}}"),
                notes: vec![note],
                needed: vec![NeededVariable { name: name.clone(), why: "goose keeps it in its keyring".to_owned() }],
                ..ImportedText::default()
            };
            env.push((name, text));
        }
    }

    /// The variables of its own environment that Codex passes on.
    fn inherited(&mut self, members: &mut EntryMembers) -> Vec<String> {
        let Some(member) = members.take(&["env_vars"]) else { return Vec::new() };
        let Value::List(items) = &member.node.value else {
            self.expected(&member, "a list of names");
            return Vec::new();
        };
        let name = |item: &Node| plain_text(item).or_else(|| plain_text(item.get("name")?));
        items.iter().filter_map(name).collect()
    }

    fn url(&mut self, key: &NodeKey, members: &mut EntryMembers, url: &Member, sse: bool) -> Option<ImportedTarget> {
        let written = self.string(url)?;
        let before = self.goose_variables(members);
        let text = self.text(url, &written);
        if !text.text.contains("${") && url_problem(&text.text.replace("$$", "$")).is_some() {
            return self.skip(key, "its URL is not an HTTP URL");
        }
        let mut headers = Vec::new();
        while let Some(member) = members.take(&HEADERS) {
            self.texts(&member, &mut headers);
        }
        if let Some(member) = members.take(&["requestOptions"]) {
            let Some(options) = member.members() else {
                self.expected(&member, "a map");
                return None;
            };
            for option in options {
                match option.name {
                    "headers" => self.texts(&option, &mut headers),
                    _ => self.warn(format!("ignored `{}`: it is not supported", option.path), option.key),
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
                let pairs = self.pairs(&member).into_iter();
                self.variables.local = pairs.map(|(entry, value)| (entry.name.to_owned(), value)).collect();
            }
            members.take(&["env_keys"]);
        }
        before
    }

    /// Adds the entries of a map to those of others.
    fn texts(&mut self, member: &Member, values: &mut Vec<(String, ImportedText)>) {
        for (entry, value) in self.pairs(member) {
            let value = self.text(&entry, &value);
            set(values, entry.name, value);
        }
    }

    /// Headers whose values other keys give: tokens, and names of environment variables.
    fn credentials(&mut self, members: &mut EntryMembers, headers: &mut Vec<(String, ImportedText)>) {
        let variable =
            |name: &str, before: &str| ImportedText { text: format!("{before}${{{name}}}"), ..ImportedText::default() };
        if let Some(member) = members.take(&["env_http_headers"]) {
            let pairs = self.pairs(&member);
            pairs.into_iter().for_each(|(entry, name)| set(headers, entry.name, variable(&name, "")));
        }
        if let Some(member) = members.take(&["bearer_token_env_var"])
            && let Some(name) = self.string(&member)
        {
            set(headers, "Authorization", variable(&name, "Bearer "));
        }
        if let Some(member) = members.take(&["apiKey"])
            && let Some(key) = self.string(&member)
        {
            let value = self.text(&member, &format!("Bearer {key}"));
            set(headers, "Authorization", value);
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
                self.time(&member, key, server);
            }
        }
        let Some(member) = members.take(&["timeout"]) else { return };
        match (&member.node.value, self.client.timeout) {
            // The newer form of opencode.
            (Value::Map(_), _) => {
                for part in member.members().into_iter().flatten() {
                    match part.name {
                        "startup" => self.time(&part, TimeKey::Start(Unit::Milliseconds), server),
                        "request" => self.time(&part, TimeKey::Request(Unit::Milliseconds), server),
                        _ => self.warn(format!("ignored `{}`: it is not supported", part.path), part.key),
                    }
                }
            }
            (_, Some(key)) => self.time(&member, key, server),
            (Value::Number(number), None) => {
                let problem = "it is not known whether this client means seconds or milliseconds";
                let path = &member.path;
                let message = format!("`{path}` was not imported: {problem}; write `timeout: {number}s` if seconds");
                self.warn(message, member.key);
            }
            (_, None) => self.expected(&member, "a number"),
        }
    }

    fn time(&mut self, member: &Member, key: TimeKey, server: &mut ImportedServer) {
        match key {
            TimeKey::Request(unit) => server.timeout = self.duration(member, unit),
            TimeKey::Start(unit) => server.start_timeout = self.duration(member, unit),
        }
    }

    fn member_path(&mut self, member: &Member) -> Option<ImportedText> {
        let written = self.string(member).filter(|written| !written.is_empty())?;
        Some(self.path_text(member, &written, true))
    }

    /// A path. A relative one is relative to the folder that the other program works in, not to that of our config.
    fn path_text(&mut self, member: &Member, written: &str, is_path: bool) -> ImportedText {
        let mut text = self.text(member, written);
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
        ImportedText { written: text.to_owned(), text: text.replace('$', "$$"), ..ImportedText::default() }
    }
}

/// Sets a value, which replaces an earlier one of the same name.
fn set(values: &mut Vec<(String, ImportedText)>, name: &str, value: ImportedText) {
    values.retain(|(known, _)| known != name);
    values.push((name.to_owned(), value));
}

/// Whether a command connects to a URL in the place of a client that cannot do so or cannot log in.
fn is_mcp_remote(command: &ImportedCommand) -> bool {
    // `mcp-remote@1.2.3` is a version of it.
    let is_name = |word: &str| word.split('@').next() == Some("mcp-remote");
    let program = Path::new(&command.command.written).file_name().and_then(|name| name.to_str());
    program.is_some_and(is_name) || command.args.iter().any(|argument| is_name(&argument.written))
}
