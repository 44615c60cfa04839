//! The sets of a folder.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use proxy_model::{Definition, ItemKind};
use proxy_search::Tool;
use serde_json::{Value, json};

pub struct Set {
    pub name: String,
    pub tools: Vec<Tool>,
    pub queries: Vec<Query>,
}

pub struct Query {
    pub text: String,
    /// Each group is found when one of its tools is.
    pub groups: Vec<Vec<usize>>,
}

pub fn sets(folder: &Path) -> Result<Vec<Set>, String> {
    let mut folders: Vec<_> = std::fs::read_dir(folder)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("tools.jsonl").is_file())
        .collect();
    if folder.join("tools.jsonl").is_file() {
        folders.push(folder.to_owned());
    }
    if folders.is_empty() {
        return Err("there is no folder with a `tools.jsonl` in it".to_owned());
    }
    folders.sort();
    folders.iter().map(|path| set(path)).collect()
}

fn set(folder: &Path) -> Result<Set, String> {
    let mut tools = Vec::new();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for line in lines(&folder.join("tools.jsonl"))? {
        let text = |member: &str| line[member].as_str().unwrap_or_default();
        let schema = if line["inputSchema"].is_object() { line["inputSchema"].clone() } else { json!({}) };
        let definition =
            json!({"name": text("name"), "description": text("description"), "inputSchema": schema}).to_string();
        let raw = proxy_json::valid(definition).map_err(|error| error.to_string())?;
        let definition = Definition::parse(ItemKind::Tool, raw).map_err(|error| error.to_string())?;
        places.entry(format!("{}/{}", text("server"), text("name"))).or_default().push(tools.len());
        tools.push(Tool {
            server: text("server").into(),
            original_name: definition.key().into(),
            definition: Arc::new(definition),
        });
    }
    let mut queries = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("queries") && name.ends_with(".jsonl")
        })
        .collect();
    files.sort();
    for file in files {
        for line in lines(&file)? {
            let known = |id: &Value| places.get(id.as_str().unwrap_or_default()).cloned().unwrap_or_default();
            let groups: Vec<Vec<usize>> = match line["gold_groups"].as_array().filter(|groups| !groups.is_empty()) {
                Some(groups) => groups
                    .iter()
                    .map(|group| group.as_array().into_iter().flatten().flat_map(known).collect())
                    .collect(),
                None => line["gold"].as_array().into_iter().flatten().map(known).collect(),
            };
            queries.push(Query { text: line["query"].as_str().unwrap_or_default().to_owned(), groups });
        }
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Set { name, tools, queries })
}

fn lines(file: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", file.display()))).collect()
}
