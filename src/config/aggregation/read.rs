//! The keys of `aggregation`, checked against the servers there are.

use std::collections::HashSet;

use crate::diagnostic::nearest;

use super::super::reader::Reader;
use super::{Aggregation, ConflictResolution, Override, Visibility, WorkloadTools};

/// `servers` are the names a workload may have.
pub fn read_aggregation(reader: &Reader, servers: &[&str]) -> Option<Aggregation> {
    let mut aggregation = Aggregation::default();
    let mut fields = reader.fields()?;
    let resolution = fields.get("conflictResolution");
    if let Some(found) = resolution.as_ref().and_then(|reader| reader.choice(&ConflictResolution::ALL)) {
        aggregation.conflict_resolution = found;
    }
    if let Some(mut details) = fields.read("conflictResolutionConfig", Reader::fields) {
        details.set(&mut aggregation.prefix_format, "prefixFormat", read_prefix_format);
        let read_order = |reader: &Reader| reader.list(|item| read_workload(item, servers));
        details.set(&mut aggregation.priority_order, "priorityOrder", read_order);
        details.finish();
    }
    fields.set(&mut aggregation.exclude_all_tools, "excludeAllTools", Reader::boolean);
    let read_visibility = |reader: &Reader| reader.choice(&Visibility::ALL);
    fields.set(&mut aggregation.default_tool_visibility, "defaultToolVisibility", read_visibility);
    fields.set(&mut aggregation.tools, "tools", |reader| read_tools(reader, servers));
    fields.finish();
    if let Some(reader) = resolution.filter(|_| lacks_order(&aggregation)) {
        let problem = reader.problem("`priority` needs an order to go by");
        reader
            .report(problem.hint("list server names in `conflictResolutionConfig.priorityOrder`, the first one wins"));
    }
    Some(aggregation)
}

fn lacks_order(aggregation: &Aggregation) -> bool {
    aggregation.conflict_resolution == ConflictResolution::Priority && aggregation.priority_order.is_empty()
}

fn read_prefix_format(reader: &Reader) -> Option<String> {
    let format = reader.string()?;
    if format.contains("{workload}") {
        Some(format)
    } else {
        reader.fail("must contain `{workload}`, the server's name")
    }
}

fn read_workload(reader: &Reader, servers: &[&str]) -> Option<String> {
    let name = reader.word()?;
    if servers.contains(&name.as_str()) {
        return Some(name);
    }
    let hint = match nearest(&name, servers.iter().copied()) {
        Some(server) => format!("did you mean `{server}`?"),
        None if servers.is_empty() => "there are no servers in this config".to_owned(),
        None => format!("the servers are: {}", servers.join(", ")),
    };
    reader.report(reader.problem(&format!("there is no server `{name}`")).hint(hint));
    None
}

fn read_tools(reader: &Reader, servers: &[&str]) -> Option<Vec<WorkloadTools>> {
    let mut seen = HashSet::new();
    reader.list(|item| {
        let mut fields = item.fields()?;
        let workload = fields.get("workload");
        let mut tools = WorkloadTools {
            workload: String::new(),
            filter: fields.read("filter", |filter| filter.list(Reader::word)),
            exclude_all: fields.read("excludeAll", Reader::boolean).unwrap_or(false),
            overrides: fields.read("overrides", read_overrides).unwrap_or_default().into_iter().collect(),
        };
        fields.finish();
        let Some(workload) = workload else { return item.fail("needs `workload`, the name of a server") };
        tools.workload = read_workload(&workload, servers)?;
        if !seen.insert(tools.workload.clone()) {
            return workload.fail("this server has an entry already");
        }
        Some(tools)
    })
}

fn read_overrides(reader: &Reader) -> Option<Vec<(String, Override)>> {
    reader.map(|_, reader| {
        let mut fields = reader.fields()?;
        let found = Override {
            name: fields.read("name", Reader::word),
            description: fields.read("description", Reader::string),
            title: fields.read("title", Reader::string),
            annotations: fields.read("annotations", Reader::json_object),
        };
        fields.finish();
        Some(found)
    })
}
