//! `aggregation`: which tools, prompts and resources of which workloads are published, and under which names. A workload
//! is a server or an extension.

mod read;
mod workload;

use serde_json::{Value, json};

pub(crate) use read::read_aggregation;
pub use workload::{ItemPattern, NamedWorkload, PatternKind, WorkloadItems};

#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub conflict_resolution: ConflictResolution,
    /// The prefix of names; `{workload}` stands for the name of the server or extension.
    pub prefix_format: String,
    pub priority_order: Vec<String>,
    pub exclude_all_tools: bool,
    pub default_tool_visibility: Visibility,
    pub tools: Vec<WorkloadItems>,
    pub prompts: Vec<WorkloadItems>,
    pub resources: Vec<WorkloadItems>,
    /// Every workload that the section names. An extension has its name in its file, so the names are checked after the
    /// extensions have been loaded.
    pub named_workloads: Vec<NamedWorkload>,
    /// Every `filter`, `exclude` and `overrides` of the section. What matches is known when the servers were seen.
    pub patterns: Vec<ItemPattern>,
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
            prompts: Vec::new(),
            resources: Vec::new(),
            named_workloads: Vec::new(),
            patterns: Vec::new(),
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

impl Aggregation {
    /// The value of `config()["aggregation"]` in scripts. It contains every key, with `None` for those that are not
    /// set.
    pub fn to_json(&self) -> Value {
        let entries = |list: &[WorkloadItems]| list.iter().map(WorkloadItems::to_json).collect::<Vec<_>>();
        json!({
            "conflictResolution": word(&ConflictResolution::ALL, self.conflict_resolution),
            "conflictResolutionConfig": {
                "prefixFormat": self.prefix_format,
                "priorityOrder": self.priority_order,
            },
            "excludeAllTools": self.exclude_all_tools,
            "defaultToolVisibility": word(&Visibility::ALL, self.default_tool_visibility),
            "tools": entries(&self.tools),
            "prompts": entries(&self.prompts),
            "resources": entries(&self.resources),
        })
    }
}

fn word<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter().find(|(_, candidate)| *candidate == value).map_or("", |(word, _)| word)
}
