//! `aggregation`: which tools of which servers are published, and under which names.

mod read;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

pub(crate) use read::read_aggregation;

#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub conflict_resolution: ConflictResolution,
    /// The prefix of tool names; `{workload}` stands for the name of the server.
    pub prefix_format: String,
    pub priority_order: Vec<String>,
    pub exclude_all_tools: bool,
    pub default_tool_visibility: Visibility,
    pub tools: Vec<WorkloadTools>,
}

impl Default for Aggregation {
    fn default() -> Self {
        Aggregation {
            conflict_resolution: ConflictResolution::Auto,
            prefix_format: "{workload}_".to_owned(),
            priority_order: Vec::new(),
            exclude_all_tools: false,
            default_tool_visibility: Visibility::Allow,
            tools: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictResolution {
    Auto,
    Prefix,
    Priority,
    Manual,
}

impl ConflictResolution {
    const ALL: [(&str, Self); 4] =
        [("auto", Self::Auto), ("prefix", Self::Prefix), ("priority", Self::Priority), ("manual", Self::Manual)];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Allow,
    Deny,
}

impl Visibility {
    const ALL: [(&str, Self); 2] = [("allow", Self::Allow), ("deny", Self::Deny)];
}

/// The tools of one server.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadTools {
    pub workload: String,
    /// Names or globs of the published tools; all if `None`.
    pub filter: Option<Vec<String>>,
    pub exclude_all: bool,
    /// By the tool's original name.
    pub overrides: IndexMap<String, Override>,
}

/// Replacements for parts of a tool's definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    pub name: Option<String>,
    pub description: Option<String>,
    pub title: Option<String>,
    pub annotations: Option<Map<String, Value>>,
}

impl Aggregation {
    /// The value of `config()["aggregation"]` in scripts. It contains every key, with `None` for those that are not
    /// set.
    pub fn to_json(&self) -> Value {
        json!({
            "conflictResolution": word(&ConflictResolution::ALL, self.conflict_resolution),
            "conflictResolutionConfig": {
                "prefixFormat": self.prefix_format,
                "priorityOrder": self.priority_order,
            },
            "excludeAllTools": self.exclude_all_tools,
            "defaultToolVisibility": word(&Visibility::ALL, self.default_tool_visibility),
            "tools": self.tools.iter().map(WorkloadTools::to_json).collect::<Vec<_>>(),
        })
    }
}

impl WorkloadTools {
    fn to_json(&self) -> Value {
        let overrides = self.overrides.iter().map(|(name, replaced)| (name.clone(), replaced.to_json()));
        json!({
            "workload": self.workload,
            "filter": self.filter,
            "excludeAll": self.exclude_all,
            "overrides": overrides.collect::<Map<_, _>>(),
        })
    }
}

impl Override {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "title": self.title,
            "annotations": self.annotations,
        })
    }
}

fn word<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter().find(|(_, candidate)| *candidate == value).map_or("", |(word, _)| word)
}
