//! Rules in other programs' configs that disable servers or hide tools, outside the entries of the servers.

use std::path::Path;

use super::members::plain_text;
use super::{ImportClient, ImportedServer};
use crate::syntax::document::ConfigDocument;
use crate::syntax::tree::{Node, Value};
use proxy_base::diagnostic::Diagnostic;

/// The file in which Gemini CLI keeps which servers are off, by their names in lower case.
pub(super) const SWITCHES: &str = "mcp-server-enablement.json";

#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Names of servers that are off.
    disabled: Vec<String>,
    /// The same in lower case.
    switched_off: Vec<String>,
    /// If set, all other servers are off.
    allowed: Option<Vec<String>>,
    /// Patterns of full names of tools that are hidden.
    hidden: Vec<String>,
}

impl Rules {
    /// Adds the rules of a file of this client.
    pub(super) fn add(
        &mut self,
        client: &ImportClient,
        document: &ConfigDocument,
        project: &Path,
    ) -> Result<(), Diagnostic> {
        let root = &document.root;
        let list = |path: &[&str]| strings(document, path);
        match client.name {
            "gemini" => {
                self.disabled.extend(list(&["mcp", "excluded"])?);
                self.disabled.extend(list(&["excludeMCPServers"])?);
                for path in [&["mcp", "allowed"][..], &["allowMCPServers"]] {
                    let allowed = list(path)?;
                    if !allowed.is_empty() {
                        self.allowed.get_or_insert_default().extend(allowed);
                    }
                }
                for path in [&["excludeTools"][..], &["tools", "exclude"]] {
                    // `name(arguments)` restricts a tool of Gemini CLI itself.
                    self.hidden.extend(list(path)?.into_iter().filter(|name| !name.contains('(')));
                }
            }
            "opencode" => {
                self.hidden.extend(denied(root.get("tools"), |value| *value == Value::Bool(false)));
                let denies = |value: &Value| matches!(value, Value::String(action) if action == "deny");
                // A permission may depend on the arguments; what is denied for all of them is hidden.
                let is_denied = |value: &Value| match value {
                    Value::Map(cases) => cases.iter().any(|(case, node)| case.text == "*" && denies(&node.value)),
                    one => denies(one),
                };
                self.hidden.extend(denied(root.get("permission"), is_denied));
                if root.get("permission").is_some_and(|all| denies(&all.value)) {
                    self.hidden.push("*".to_owned());
                }
            }
            "claude-code" => {
                self.disabled.extend(list(&["disabledMcpjsonServers"])?);
                self.hidden
                    .extend(list(&["permissions", "deny"])?.into_iter().filter(|name| name.starts_with("mcp__")));
                let project = project.to_string_lossy();
                for key in ["disabledMcpServers", "disabledMcpjsonServers"] {
                    self.disabled.extend(list(&["projects", &project, key])?);
                }
            }
            "goose" => self.hidden.extend(list(&["user", "never_allow"])?),
            _ => {}
        }
        Ok(())
    }

    /// Adds the servers that Gemini CLI was told to turn off.
    pub(super) fn add_switches(&mut self, document: &ConfigDocument) {
        let Value::Map(servers) = &document.root.value else { return };
        let is_off = |server: &Node| server.get("enabled").is_some_and(|enabled| enabled.value == Value::Bool(false));
        self.switched_off
            .extend(servers.iter().filter(|(_, server)| is_off(server)).map(|(name, _)| name.text.to_lowercase()));
    }

    /// Applies the rules to a server. `original` is its name in the file.
    pub(super) fn apply(&self, client: &ImportClient, original: &str, server: &mut ImportedServer) {
        let is_named = |names: &Vec<String>| names.iter().any(|name| name == original);
        server.disabled |= self.switched_off.contains(&original.trim().to_lowercase());
        server.disabled |= is_named(&self.disabled) || self.allowed.as_ref().is_some_and(|names| !is_named(names));
        let plain: String =
            original.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
        let prefixes = match client.name {
            "gemini" => vec![String::new(), format!("{original}__"), format!("mcp_{plain}_")],
            "opencode" => vec![format!("{plain}_")],
            "claude-code" => vec![format!("mcp__{plain}__")],
            "goose" => vec![format!("{plain}__")],
            _ => Vec::new(),
        };
        for pattern in &self.hidden {
            for prefix in &prefixes {
                if client.name == "claude-code" && prefix.strip_suffix("__") == Some(pattern) {
                    server.tools.hide("*".to_owned());
                }
                for rest in rest_after(pattern, prefix) {
                    // These clients write every unusual character of a tool's name as `_`.
                    let is_changed = matches!(client.name, "claude-code" | "opencode");
                    server.tools.hide(if is_changed { rest.replace('_', "?") } else { rest });
                }
            }
        }
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

/// The strings of the list at a path; none if there is no such list.
fn strings(document: &ConfigDocument, path: &[&str]) -> Result<Vec<String>, Diagnostic> {
    let Some(node) = path.iter().try_fold(&document.root, |node, key| node.get(key)) else { return Ok(Vec::new()) };
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => Ok(items.iter().filter_map(plain_text).collect()),
        // A rule that cannot be read could hide something.
        _ => {
            let problem = Diagnostic::error(format!("`{}`: expected a list of names", path.join(".")));
            Err(problem.at(document.place(node.span.clone())))
        }
    }
}

/// The patterns of a map whose values say that tools are hidden.
fn denied(node: Option<&Node>, is_denied: impl Fn(&Value) -> bool) -> Vec<String> {
    let Some(Value::Map(entries)) = node.map(|node| &node.value) else { return Vec::new() };
    entries.iter().filter(|(_, node)| is_denied(&node.value)).map(|(key, _)| key.text.clone()).collect()
}

/// What is left of a pattern for the names that begin with a prefix: for `a_*` and `a_`, it is `*`. A pattern can match the
/// prefix in several ways.
fn rest_after(pattern: &str, prefix: &str) -> Vec<String> {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut places = vec![0];
    // A star may match nothing.
    let skip_stars = |places: Vec<usize>| -> Vec<usize> {
        let mut all = Vec::new();
        for mut place in places {
            all.push(place);
            while pattern.get(place) == Some(&'*') {
                place += 1;
                all.push(place);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    for letter in prefix.chars() {
        let next = skip_stars(places).into_iter().filter_map(|place| match pattern.get(place)? {
            '*' => Some(place),
            '?' => Some(place + 1),
            other => (*other == letter).then_some(place + 1),
        });
        places = next.collect();
    }
    places.dedup();
    let rest = places.into_iter().map(|place| pattern[place..].iter().collect::<String>());
    rest.filter(|rest| !rest.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_full_names_becomes_one_of_a_servers_own() {
        assert_eq!(rest_after("git_push", "git_"), ["push"]);
        assert_eq!(rest_after("git_*", "git_"), ["*"]);
        assert_eq!(rest_after("git*", "git_"), ["*"]);
        assert_eq!(rest_after("*_delete", "git_"), ["*_delete", "delete"]);
        assert_eq!(rest_after("other_x", "git_"), [""; 0]);
        assert_eq!(rest_after("git_", "git_"), [""; 0]);
        assert_eq!(rest_after("push", ""), ["push"]);
    }
}
