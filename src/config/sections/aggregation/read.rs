//! Reads the keys of `aggregation` and checks them against the servers of the config.

use std::collections::HashSet;

use crate::diagnostic::nearest;

use super::{Aggregation, ConflictResolution, Override, Visibility, WorkloadTools};
use crate::config::syntax::reader::ValueReader;

/// Reads the section. `servers` are the valid names of workloads.
pub(crate) fn read_aggregation(reader: &ValueReader, servers: &[&str]) -> Option<Aggregation> {
    let mut aggregation = Aggregation::default();
    let mut fields = reader.fields()?;
    let resolution = fields.get("conflictResolution");
    if let Some(found) = resolution.as_ref().and_then(|reader| reader.choice(&ConflictResolution::ALL)) {
        aggregation.conflict_resolution = found;
    }
    if let Some(mut details) = fields.read("conflictResolutionConfig", ValueReader::fields) {
        details.set(&mut aggregation.prefix_format, "prefixFormat", read_prefix_format);
        let read_order = |reader: &ValueReader| reader.list(|item| read_workload(item, servers));
        details.set(&mut aggregation.priority_order, "priorityOrder", read_order);
        details.finish();
    }
    fields.set(&mut aggregation.exclude_all_tools, "excludeAllTools", ValueReader::boolean);
    let read_visibility = |reader: &ValueReader| reader.choice(&Visibility::ALL);
    fields.set(&mut aggregation.default_tool_visibility, "defaultToolVisibility", read_visibility);
    fields.set(&mut aggregation.tools, "tools", |reader| read_tools(reader, servers));
    fields.finish();
    if let Some(reader) = resolution.filter(|_| lacks_order(&aggregation)) {
        let problem = reader.problem("`priority` requires an order");
        reader
            .report(problem.hint("list server names in `conflictResolutionConfig.priorityOrder`; the first one wins"));
    }
    Some(aggregation)
}

fn lacks_order(aggregation: &Aggregation) -> bool {
    aggregation.conflict_resolution == ConflictResolution::Priority && aggregation.priority_order.is_empty()
}

fn read_prefix_format(reader: &ValueReader) -> Option<String> {
    let format = reader.string()?;
    if format.contains("{workload}") {
        Some(format)
    } else {
        reader.fail("must contain `{workload}`, which stands for the name of the server")
    }
}

fn read_workload(reader: &ValueReader, servers: &[&str]) -> Option<String> {
    let name = reader.word()?;
    if servers.contains(&name.as_str()) {
        return Some(name);
    }
    let hint = match nearest(&name, servers.iter().copied()) {
        Some(server) => format!("did you mean `{server}`?"),
        None if servers.is_empty() => "the config has no servers".to_owned(),
        None => format!("known servers: {}", servers.join(", ")),
    };
    reader.report(reader.problem(&format!("unknown server `{name}`")).hint(hint));
    None
}

fn read_tools(reader: &ValueReader, servers: &[&str]) -> Option<Vec<WorkloadTools>> {
    let mut seen = HashSet::new();
    reader.list(|item| {
        let mut fields = item.fields()?;
        let workload = fields.get("workload");
        let mut tools = WorkloadTools {
            workload: String::new(),
            filter: fields.read("filter", |filter| filter.list(ValueReader::word)),
            exclude_all: fields.read("excludeAll", ValueReader::boolean).unwrap_or(false),
            overrides: fields.read("overrides", read_overrides).unwrap_or_default().into_iter().collect(),
        };
        fields.finish();
        let Some(workload) = workload else { return item.fail("missing key `workload` (name of a server)") };
        tools.workload = read_workload(&workload, servers)?;
        if !seen.insert(tools.workload.clone()) {
            return workload.fail("duplicate entry for this server");
        }
        Some(tools)
    })
}

fn read_overrides(reader: &ValueReader) -> Option<Vec<(String, Override)>> {
    reader.map(|_, reader| {
        let mut fields = reader.fields()?;
        let found = Override {
            name: fields.read("name", ValueReader::word),
            description: fields.read("description", ValueReader::string),
            title: fields.read("title", ValueReader::string),
            annotations: fields.read("annotations", ValueReader::json_object),
        };
        fields.finish();
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::Aggregation;
    use crate::config::testing::{errors, loaded};

    #[test]
    fn a_script_sees_every_key_with_its_default() {
        let expected = json!({
            "conflictResolution": "auto",
            "conflictResolutionConfig": {"prefixFormat": "{workload}_", "priorityOrder": []},
            "excludeAllTools": false,
            "defaultToolVisibility": "allow",
            "tools": [],
        });
        assert_eq!(Aggregation::default().to_json(), expected);
    }

    #[test]
    fn what_is_set_is_seen_by_a_script() {
        let config = loaded(
            "mcpServers: {gh: {command: x}}\naggregation:\n  conflictResolution: priority\n  \
             conflictResolutionConfig: {prefixFormat: '{workload}.', priorityOrder: [gh]}\n  defaultToolVisibility: deny\n  tools:\n  \
             - {workload: gh, filter: ['list_*'], overrides: {a: {name: b, annotations: {readOnlyHint: true}}}}\n",
        );
        let seen = config.aggregation.to_json();
        assert_eq!(seen["conflictResolutionConfig"], json!({"prefixFormat": "{workload}.", "priorityOrder": ["gh"]}));
        assert_eq!(seen["tools"][0]["filter"], json!(["list_*"]));
        let replaced = json!({"name": "b", "description": null, "title": null, "annotations": {"readOnlyHint": true}});
        assert_eq!(seen["tools"][0]["overrides"]["a"], replaced);
        assert_eq!((config.set_sections[0].name, config.set_sections[0].place.line()), ("aggregation", 2));
    }

    #[test]
    fn names_are_checked_against_the_servers() {
        let found = errors(
            "mcpServers: {github: {command: 5}}\naggregation:\n  conflictResolutionConfig: {priorityOrder: [githb]}\n  tools:\n  \
             - workload: github\n  - workload: github\n  - workload: zebra\n  - filter: []\n",
        );
        assert_eq!(
            found[1..],
            [
                "3:46 `aggregation.conflictResolutionConfig.priorityOrder[0]`: unknown server `githb` (did you mean \
                 `github`?)",
                "6:15 `aggregation.tools[1].workload`: duplicate entry for this server",
                "7:15 `aggregation.tools[2].workload`: unknown server `zebra` (known servers: github)",
                "8:5 `aggregation.tools[3]`: missing key `workload` (name of a server)",
            ]
        );
    }

    #[test]
    fn priority_needs_an_order_and_a_prefix_needs_the_name() {
        let found = errors(
            "aggregation:\n  conflictResolution: priority\n  conflictResolutionConfig: {prefixFormat: x_}\n  defaultToolVisibility: no\n",
        );
        assert!(
            found[0].starts_with("2:23 `aggregation.conflictResolution`: `priority` requires an order"),
            "{}",
            found[0]
        );
        assert!(found[1].contains("must contain `{workload}`"), "{}", found[1]);
        assert!(found[2].contains("expected one of `allow`, `deny`, found `no`"), "{}", found[2]);
    }
}
