//! The files of single values that a config names, also if the config has errors.

use std::path::PathBuf;

use crate::syntax::document::ConfigDocument;
use crate::syntax::sources::file_of;
use crate::syntax::substitute::{VariableLookup, sources_in};
use crate::syntax::tree::{Node, Value};

/// The files of all entries but those of disabled servers.
pub(crate) fn secret_files(document: &ConfigDocument, environment: &VariableLookup) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Value::Map(sections) = &document.root.value else { return files };
    let by_default = document.root.get("defaults").and_then(is_disabled).unwrap_or(false);
    for (key, section) in sections {
        match &section.value {
            Value::Map(servers) if matches!(key.text.as_str(), "mcpServers" | "servers") => {
                let used = servers.iter().filter(|(_, server)| !is_disabled(server).unwrap_or(by_default));
                used.for_each(|(_, server)| collect(server, document, environment, &mut files));
            }
            _ => collect(section, document, environment, &mut files),
        }
    }
    files.sort();
    files.dedup();
    files
}

fn is_disabled(server: &Node) -> Option<bool> {
    match server.get("disabled")?.value {
        Value::Bool(value) => Some(value),
        _ => None,
    }
}

fn collect(node: &Node, document: &ConfigDocument, environment: &VariableLookup, files: &mut Vec<PathBuf>) {
    match &node.value {
        Value::Map(entries) => entries.iter().for_each(|(_, value)| collect(value, document, environment, files)),
        Value::List(items) => items.iter().for_each(|item| collect(item, document, environment, files)),
        Value::String(text) | Value::Block(text) => {
            let folder = document.folder(&node.span);
            files.extend(sources_in(text).iter().filter_map(|source| file_of(source, folder, environment)));
        }
        _ => {}
    }
}
