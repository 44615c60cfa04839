//! The tools of a folder, as if their servers were ready.

use std::path::Path;
use std::sync::Arc;

use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Lists, ServerInfo, Snapshot};
use serde_json::{Value, json};

pub fn snapshot(folder: &Path) -> Result<Arc<Snapshot>, String> {
    let file = folder.join("tools.jsonl");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut servers: Vec<(String, Lists)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{}: {error}", file.display()))?;
        let tool =
            json!({"name": line["name"], "description": line["description"], "inputSchema": line["inputSchema"]});
        let definition =
            Definition::parse(ItemKind::Tool, proxy_json::raw(&tool)).map_err(|error| format!("{line}: {error}"))?;
        let name = line["server"].as_str().unwrap_or_default();
        let position = servers.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            servers.push((name.to_owned(), Lists::default()));
            servers.len() - 1
        });
        servers[position].1.tools.push(Arc::new(definition));
    }
    let backends = servers.into_iter().map(|(name, lists)| Arc::new(view(&name, lists))).collect();
    Ok(Arc::new(Snapshot { version: 1, generation: 1, backends }))
}

fn view(name: &str, lists: Lists) -> BackendView {
    let info = ServerInfo { name: name.to_owned(), capabilities: json!({"tools": {}}), ..ServerInfo::default() };
    BackendView::ready(name, BackendKind::Stdio, info, lists)
}
