//! What `aggregation` says about one workload, and the check of the names of workloads.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::Aggregation;
use proxy_base::diagnostic::{Diagnostic, nearest};

/// The tools, prompts or resources of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadItems {
    pub workload: String,
    /// Names or globs of the published items (for resources: URIs); all if `None`.
    pub filter: Option<Vec<String>>,
    /// Names or globs of items that are not published, whatever `filter` says.
    pub exclude: Vec<String>,
    pub exclude_all: bool,
    /// Replacements for parts of a definition, by the item's original name or URI. Each has every key that its kind of
    /// item allows, with `null` for those that are not set.
    pub overrides: IndexMap<String, Map<String, Value>>,
}

impl WorkloadItems {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "workload": self.workload,
            "filter": self.filter,
            "exclude": self.exclude,
            "excludeAll": self.exclude_all,
            "overrides": self.overrides,
        })
    }
}

/// The name of a workload in the section.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWorkload {
    name: String,
    /// The error if there is no such workload.
    unknown: Diagnostic,
}

impl NamedWorkload {
    pub(super) fn new(name: &str, unknown: Diagnostic) -> Self {
        NamedWorkload { name: name.to_owned(), unknown }
    }
}

/// A name or glob in the section that should match an item of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemPattern {
    pub workload: String,
    pub kind: PatternKind,
    pub pattern: String,
    /// Whether it is a name, so that globs do not count: the key of an override.
    pub exact: bool,
    /// The warning if nothing matches.
    pub unmatched: Diagnostic,
}

/// The kinds of items that a pattern can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternKind {
    Tools,
    Prompts,
    /// Resources and resource templates.
    Resources,
}

impl Aggregation {
    /// An error for each name in the section that no server and no extension has. `known` are their names.
    pub fn unknown_workloads(&self, known: &[&str]) -> Vec<Diagnostic> {
        let unknown = self.named_workloads.iter().filter(|named| !known.contains(&named.name.as_str()));
        let error = |named: &NamedWorkload| {
            named.unknown.clone().hint(match nearest(&named.name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "the config has no servers and no extensions".to_owned(),
                None => format!("the servers and extensions are {}", known.join(", ")),
            })
        };
        unknown.map(error).collect()
    }
}
