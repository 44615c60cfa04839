//! Finds the servers in a config of another program.

use std::path::Path;

use super::client::{ImportClient, UNKNOWN};
use crate::syntax::document::ConfigDocument;
use crate::syntax::tree::{Node, NodeKey, Value};
use proxy_base::diagnostic::Diagnostic;

/// Servers by name.
type Entries<'a> = Vec<(NodeKey, &'a Node)>;

/// The servers of a file, and the program that wrote it.
pub(super) struct Sections<'a> {
    pub client: &'static ImportClient,
    pub servers: Entries<'a>,
    /// How many servers belong to other projects than the current folder.
    pub of_other_projects: usize,
}

/// The servers of a file; `None` if it has no place for servers.
pub(super) fn find<'a>(
    document: &'a ConfigDocument,
    client: Option<&'static ImportClient>,
    project: &Path,
) -> Result<Option<Sections<'a>>, Diagnostic> {
    let root = &document.root;
    if !matches!(root.value, Value::Map(_) | Value::Null) {
        let place = document.place(root.span.start..root.span.start);
        return Err(Diagnostic::error("expected a map with a section of servers").at(place));
    }
    let Some((key, node, shape)) = shape_of(root, client) else {
        return Ok(projects(document, project)?.map(|(servers, of_other_projects)| Sections {
            client: client.or(ImportClient::by_name("claude-code")).unwrap_or(&UNKNOWN),
            servers,
            of_other_projects,
        }));
    };
    let client = client.or(shape.and_then(ImportClient::by_name)).unwrap_or(&UNKNOWN);
    let mut sections = Sections { client, servers: entries(document, key, node)?, of_other_projects: 0 };
    if let Some((servers, others)) = projects(document, project)? {
        // The servers of the project take precedence.
        let own: Vec<_> = std::mem::replace(&mut sections.servers, servers);
        let known: Vec<String> = sections.servers.iter().map(|(key, _)| key.text.clone()).collect();
        sections.servers.extend(own.into_iter().filter(|(key, _)| !known.contains(&key.text)));
        sections.of_other_projects = others;
    }
    Ok(Some(sections))
}

/// The section with the servers, and the name of the client that has it in this form, if only one has.
fn shape_of<'a>(
    root: &'a Node,
    client: Option<&'static ImportClient>,
) -> Option<(&'a NodeKey, &'a Node, Option<&'static str>)> {
    let member = |node: &'a Node, name: &str| match &node.value {
        Value::Map(entries) => entries.iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node)),
        _ => None,
    };
    let is = |name: &str| client.is_some_and(|client| client.name == name);
    let is_opencode = |servers: &Node| values(servers).any(|server| server.get("type").is_some_and(is_local));
    for (section, owner) in
        [("context_servers", "zed"), ("mcp_servers", "codex"), ("mcpServers", ""), ("servers", "vscode")]
    {
        if let Some((key, node)) = member(root, section) {
            let owner = match (owner, &node.value) {
                ("", Value::List(_)) => Some("continue"),
                ("", _) => guess(root, node),
                (owner, _) => Some(owner),
            };
            return Some((key, node, owner));
        }
    }
    if let Some((mcp_key, mcp)) = member(root, "mcp") {
        if let Some((key, node)) = member(mcp, "servers") {
            return Some((key, node, Some(if is_opencode(node) { "opencode" } else { "vscode" })));
        }
        if is_opencode(mcp) || is("opencode") {
            return Some((mcp_key, mcp, Some("opencode")));
        }
    }
    let (key, extensions) = member(root, "extensions")?;
    let is_extension = |extension: &Node| extension.get("cmd").is_some() || extension.get("bundled").is_some();
    (is("goose") || values(extensions).any(is_extension)).then_some((key, extensions, Some("goose")))
}

fn values(node: &Node) -> impl Iterator<Item = &Node> {
    let entries = match &node.value {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().map(|(_, node)| node)
}

fn is_local(kind: &Node) -> bool {
    matches!(&kind.value, Value::String(kind) if kind == "local" || kind == "remote")
}

/// The client whose keys only it has.
fn guess(root: &Node, servers: &Node) -> Option<&'static str> {
    let has = |name: &str| values(servers).any(|server| server.get(name).is_some());
    if ["httpUrl", "includeTools", "excludeTools", "trust"].into_iter().any(has) {
        Some("gemini")
    } else if has("serverUrl") {
        Some("windsurf")
    } else if has("headersHelper") || root.get("projects").is_some() {
        Some("claude-code")
    } else {
        None
    }
}

/// The servers that Claude Code has for single projects: those of this project, and the number of the others.
fn projects<'a>(document: &'a ConfigDocument, project: &Path) -> Result<Option<(Entries<'a>, usize)>, Diagnostic> {
    let Some(Value::Map(projects)) = document.root.get("projects").map(|projects| &projects.value) else {
        return Ok(None);
    };
    let (mut own, mut others) = (Vec::new(), 0);
    for (folder, settings) in projects {
        let Value::Map(members) = &settings.value else { continue };
        let Some((key, servers)) = members.iter().find(|(key, _)| key.text == "mcpServers") else { continue };
        if Path::new(&folder.text) == project {
            own = entries(document, key, servers)?;
        } else {
            others += values(servers).count();
        }
    }
    Ok(Some((own, others)))
}

/// The entries of a map of servers, or of a list of servers with names.
fn entries<'a>(document: &'a ConfigDocument, key: &NodeKey, node: &'a Node) -> Result<Entries<'a>, Diagnostic> {
    let problem = |text: String, span| Diagnostic::error(text).at(document.place(span));
    match &node.value {
        Value::Map(entries) => Ok(entries.iter().map(|(key, node)| (key.clone(), node)).collect()),
        Value::List(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| match item.get("name").map(|name| (&name.value, name)) {
                Some((Value::String(text), name)) => {
                    Ok((NodeKey { text: text.clone(), span: name.span.clone() }, item))
                }
                // A block of the hub, which is not in the file.
                _ => {
                    let start = item.span.start;
                    let text = format!("`{}[{index}]`: a server must have a `name`", key.text);
                    Err(problem(text, start..start + 1))
                }
            })
            .collect(),
        Value::Null => Ok(Vec::new()),
        _ => Err(problem(format!("`{}`: expected a map of servers", key.text), key.span.clone())),
    }
}
