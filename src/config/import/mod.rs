//! Imports config files of other programs (Claude Desktop, Cursor, VS Code).

mod entry;
mod render;
mod variables;

use std::collections::HashSet;
use std::path::Path;

use crate::diagnostic::{Diagnostic, Location};
use crate::model::Secret;

use super::sections::server::MAX_NAME_LENGTH;
use super::syntax::document::ConfigDocument;
use super::syntax::tree::{Node, NodeKey, Value};

pub use render::{commands, render_yaml};

/// The servers of an imported file, and warnings about what was skipped.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The imported file.
    pub file: String,
    pub entries: Vec<ImportedServer>,
    pub warnings: Vec<Diagnostic>,
}

/// A server, with its strings as written in the imported file.
#[derive(Clone, Debug)]
pub struct ImportedServer {
    pub name: String,
    pub target: ImportedTarget,
    pub disabled: bool,
}

#[derive(Clone, Debug)]
pub enum ImportedTarget {
    Command { command: String, args: Vec<String>, env: Vec<(String, Secret)>, cwd: Option<String> },
    Url { url: String, headers: Vec<(String, Secret)>, sse: bool },
}

/// Reads a config file of another program. Settings that the proxy does not support are skipped with a warning.
pub fn import(path: &Path, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let document = ConfigDocument::parse(path, text).map_err(|error| vec![error])?;
    let Some(servers) = find_servers(&document.root) else {
        let problem = Diagnostic::error(format!("no servers found in `{}`", path.display()));
        return Err(vec![problem.hint("expected `mcpServers`, or VS Code's `servers` or `mcp.servers`, as a map")]);
    };
    let repeated: Vec<Diagnostic> = document.repeated_keys().collect();
    if !repeated.is_empty() {
        return Err(repeated);
    }
    let mut importer = Importer { document: &document, names: HashSet::new(), warnings: Vec::new() };
    let entries = servers.iter().filter_map(|(key, node)| importer.entry(key, node)).collect();
    Ok(Imported { file: path.display().to_string(), entries, warnings: importer.warnings })
}

fn find_servers(root: &Node) -> Option<&[(NodeKey, Node)]> {
    let in_settings = root.get("mcp").and_then(|mcp| mcp.get("servers"));
    match &root.get("mcpServers").or_else(|| root.get("servers")).or(in_settings)?.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    }
}

struct Importer<'a> {
    document: &'a ConfigDocument,
    names: HashSet<String>,
    warnings: Vec<Diagnostic>,
}

impl Importer<'_> {
    /// A valid and unique name of a server. VS Code's gallery uses names like `owner/server`, which are not valid here.
    fn name(&mut self, key: &NodeKey) -> String {
        let is_valid = |character: char| character != '/' && !character.is_control();
        let replaced = key.text.chars().map(|character| if is_valid(character) { character } else { '-' });
        let mut name: String = replaced.take(MAX_NAME_LENGTH).collect();
        if name.is_empty() {
            name = "server".to_owned();
        }
        let stem: String = name.chars().take(MAX_NAME_LENGTH - 4).collect();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{stem}-{count}");
        }
        if name != key.text {
            self.warn(format!("renamed `{}` to `{name}`", key.text.escape_debug()), key);
        }
        name
    }

    fn warn(&mut self, message: String, key: &NodeKey) {
        self.warnings.push(Diagnostic::warning(message).at(self.place(key)));
    }

    fn place(&self, key: &NodeKey) -> Location {
        self.document.place(key.span.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, TransportConfig, load_text};

    fn imported(text: &str) -> Imported {
        import(Path::new("client.json"), text).unwrap()
    }

    fn round_trip(imported: &Imported) -> Config {
        let yaml = render_yaml(imported);
        let environment = |name: &str| Some(format!("<{name}>"));
        load_text(Path::new("proxy.yaml"), &yaml, &environment).unwrap_or_else(|errors| panic!("{errors:?}\n{yaml}")).0
    }

    fn messages(imported: &Imported) -> Vec<&str> {
        imported.warnings.iter().map(|warning| warning.message.as_str()).collect()
    }

    #[test]
    fn a_claude_desktop_file() {
        let imported = imported(
            r#"{"globalShortcut": "x", "mcpServers": {"fs": {"command": "npx", "args": ["-y", "@a/b", "C:\\Users\\a b", "--x=\"y\""],
                "env": {"KEY": "pa$$w0rd: #1", "N": 5}}}}"#,
        );
        let TransportConfig::Stdio { command, args, env, .. } = round_trip(&imported).servers["fs"].transport.clone()
        else {
            panic!("not a command")
        };
        assert_eq!(command, "npx");
        assert_eq!(args, ["-y", "@a/b", "C:\\Users\\a b", "--x=\"y\""]);
        assert_eq!((env["KEY"].reveal(), env["N"].reveal()), ("pa$$w0rd: #1", "5"));
        assert_eq!(messages(&imported), [""; 0]);
        assert!(!format!("{imported:?}").contains("pa$$w0rd"));
    }

    #[test]
    fn a_cursor_file_with_keys_of_its_own() {
        let imported = imported(
            r#"{"mcpServers": {"docs": {"url": "https://h/mcp?k=1", "headers": {"Authorization": "Bearer ${env:DOCS}"},
                "autoApprove": ["x"], "timeout": 60}, "off": {"command": "x", "disabled": true, "envFile": ".env"},
                "old": {"url": "https://h/sse", "type": "sse"}, "odd": {}}}"#,
        );
        let config = round_trip(&imported);
        let TransportConfig::Http { url, headers, sse: false } = &config.servers["docs"].transport else {
            panic!("not an address")
        };
        assert_eq!((url.as_str(), headers["Authorization"].reveal()), ("https://h/mcp?k=1", "Bearer <DOCS>"));
        assert!(config.servers["off"].disabled);
        assert!(
            matches!(&config.servers["old"].transport, TransportConfig::Http { url, sse: true, .. } if url == "https://h/sse")
        );
        assert_eq!(config.servers.len(), 3);
        assert_eq!(
            messages(&imported),
            [
                "ignored `docs.autoApprove`: it is not supported",
                "ignored `docs.timeout`: it is not supported",
                "ignored `off.envFile`: it is not supported",
                "skipped `odd`: it has neither a command nor a URL",
            ]
        );
    }

    #[test]
    fn vs_code_files_of_both_kinds() {
        let servers = r#"{"owner/gh": {"type": "stdio", "command": "${workspaceFolder}/x", "env": {"T": "${input:gh-token}"}, "gallery": true}}"#;
        for text in
            [format!(r#"{{"inputs": [], "servers": {servers}}}"#), format!(r#"{{"mcp": {{"servers": {servers}}}}}"#)]
        {
            let imported = imported(&text);
            let yaml = render_yaml(&imported);
            assert!(yaml.contains("# VS Code prompts for this value: set the environment variable GH_TOKEN"), "{yaml}");
            let config = round_trip(&imported);
            let TransportConfig::Stdio { command, env, .. } = &config.servers["owner-gh"].transport else {
                panic!("not a command")
            };
            assert_eq!((command.as_str(), env["T"].reveal()), ("${workspaceFolder}/x", "<GH_TOKEN>"));
            assert_eq!(imported.warnings.len(), 2);
        }
    }

    #[test]
    fn every_command_is_shown_and_cannot_disguise_itself() {
        let imported = imported(
            "{\"mcpServers\": {\"a\": {\"command\": \"sh\", \"args\": [\"-c\", \"rm x\\u001b[2K\\n\", \"\"], \"env\": {\"LD_PRELOAD\": \"s3cret\"}}, \
             \"b\": {\"url\": \"http://h\"}, \"c\": {\"command\": \"x\", \"cwd\": \"/tmp\", \"disabled\": true}}}",
        );
        assert_eq!(
            commands(&imported),
            [r#"a: sh -c "rm x\u{1b}[2K\n" ""  (sets LD_PRELOAD)"#, "b: http://h/", "c: x  (in /tmp)"]
        );
    }

    #[test]
    fn a_command_is_shown_without_the_secrets_in_its_arguments() {
        let imported = imported(
            r#"{"mcpServers": {"a": {"command": "docker", "args": ["run", "-e", "API_KEY=s3cret", "--token", "s3cret",
                "--api-key=s3cret", "--password:s3cret", "--header", "Authorization: Bearer s3cret", "MODE=fast", "--port", "80"]}}}"#,
        );
        assert_eq!(
            commands(&imported),
            ["a: docker run -e API_KEY=*** --token *** --api-key=*** --password=*** --header *** MODE=fast --port 80"]
        );
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_key() {
        let imported = imported(
            r#"{"mcpServers": {"a": {"url": "https://u:s3cret@h:8/mcp?key=s3cret#x", "headers": {"X-Key": "s3cret"}}}}"#,
        );
        assert_eq!(commands(&imported), ["a: https://h:8/mcp?...  (sends X-Key)"]);
    }

    #[test]
    fn a_file_without_servers_says_what_was_expected() {
        let errors = import(Path::new("settings.json"), "{\"a\": 1}").unwrap_err();
        assert_eq!(errors[0].message, "no servers found in `settings.json`");
        assert!(import(Path::new("x.json"), "{").is_err());
        assert!(render_yaml(&imported("{\"mcpServers\": {}}")).contains("mcpServers: {}"));
    }

    #[test]
    fn names_that_do_not_fit_are_changed_and_stay_apart() {
        let imported =
            imported(r#"{"mcpServers": {"a-b": {"command": "x"}, "a/b": {"command": "y"}, "": {"command": "z"}}}"#);
        let names: Vec<&str> = imported.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a-b", "a-b-2", "server"]);
        round_trip(&imported);
    }
}
