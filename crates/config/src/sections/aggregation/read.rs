//! Reads the keys of `aggregation`.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{Aggregation, ConflictResolution, ItemPattern, NamedWorkload, PatternKind, Visibility, WorkloadItems};
use crate::syntax::reader::ValueReader;
use proxy_base::diagnostic::Severity;

/// What the section names, to be checked when the servers and extensions are known.
#[derive(Default)]
struct Mentioned {
    workloads: Vec<NamedWorkload>,
    patterns: Vec<ItemPattern>,
}

/// Reads the section. The names of workloads and items are collected and checked later.
pub(crate) fn read_aggregation(reader: &ValueReader) -> Option<Aggregation> {
    let mut aggregation = Aggregation::default();
    let mut mentioned = Mentioned::default();
    let mut fields = reader.fields()?;
    let resolution = fields.get("conflictResolution");
    if let Some(found) = resolution.as_ref().and_then(|reader| reader.choice(&ConflictResolution::ALL)) {
        aggregation.conflict_resolution = found;
    }
    if let Some(mut details) = fields.read("conflictResolutionConfig", ValueReader::fields) {
        details.set(&mut aggregation.prefix_format, "prefixFormat", read_prefix_format);
        let read_order = |reader: &ValueReader| reader.list(|item| read_workload(item, &mut mentioned));
        details.set(&mut aggregation.priority_order, "priorityOrder", read_order);
        details.finish();
    }
    fields.set(&mut aggregation.exclude_all_tools, "excludeAllTools", ValueReader::boolean);
    let read_visibility = |reader: &ValueReader| reader.choice(&Visibility::ALL);
    fields.set(&mut aggregation.default_tool_visibility, "defaultToolVisibility", read_visibility);
    fields.set(&mut aggregation.tools, "tools", |reader| read_entries(reader, PatternKind::Tools, &mut mentioned));
    fields
        .set(&mut aggregation.prompts, "prompts", |reader| read_entries(reader, PatternKind::Prompts, &mut mentioned));
    fields.set(&mut aggregation.resources, "resources", |reader| {
        read_entries(reader, PatternKind::Resources, &mut mentioned)
    });
    fields.finish();
    aggregation.named_workloads = mentioned.workloads;
    aggregation.patterns = mentioned.patterns;
    if let Some(reader) = resolution.filter(|_| lacks_order(&aggregation)) {
        let problem = reader.problem("`priority` requires an order");
        let hint = "list servers and extensions in `conflictResolutionConfig.priorityOrder`; the first one wins";
        reader.report(problem.hint(hint));
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
        reader.fail("must contain `{workload}`, which stands for the name of the server or extension")
    }
}

fn read_workload(reader: &ValueReader, mentioned: &mut Mentioned) -> Option<String> {
    let name = reader.word()?;
    let unknown = reader.problem(&format!("there is no server or extension `{name}`"));
    mentioned.workloads.push(NamedWorkload::new(&name, unknown));
    Some(name)
}

fn read_entries(reader: &ValueReader, kind: PatternKind, mentioned: &mut Mentioned) -> Option<Vec<WorkloadItems>> {
    let mut seen = HashSet::new();
    reader.list(|item| {
        let mut fields = item.fields()?;
        let workload = fields.get("workload");
        let mut patterns = Vec::new();
        let mut read_patterns = |list: &ValueReader| {
            list.list(|item| {
                let pattern = item.word()?;
                patterns.push(item_pattern(item, kind, &pattern, false));
                Some(pattern)
            })
        };
        let mut entry = WorkloadItems {
            workload: String::new(),
            filter: fields.read("filter", |list| read_patterns(list).and_then(|found| not_empty(list, found))),
            exclude: fields.read("exclude", read_patterns).unwrap_or_default(),
            exclude_all: fields.read("excludeAll", ValueReader::boolean).unwrap_or(false),
            overrides: fields
                .read("overrides", |reader| read_overrides(reader, kind, &mut patterns))
                .unwrap_or_default(),
        };
        fields.finish();
        let Some(workload) = workload else {
            return item.fail("missing key `workload` (name of a server or extension)");
        };
        entry.workload = read_workload(&workload, mentioned)?;
        if !seen.insert(entry.workload.clone()) {
            return workload.fail("duplicate entry for this workload");
        }
        let of_entry = |pattern| ItemPattern { workload: entry.workload.clone(), ..pattern };
        mentioned.patterns.extend(patterns.into_iter().map(of_entry));
        Some(entry)
    })
}

/// The pattern or the key of an override, without its workload.
fn item_pattern(reader: &ValueReader, kind: PatternKind, pattern: &str, exact: bool) -> ItemPattern {
    let mut unmatched = reader.problem(&format!("nothing matches `{pattern}`")).rule("unmatched-pattern");
    unmatched.severity = Severity::Warning;
    if exact {
        unmatched.place = Some(reader.place());
    }
    ItemPattern { workload: String::new(), kind, pattern: pattern.to_owned(), exact, unmatched }
}

/// An empty filter may mean that everything is published, or nothing.
fn not_empty(reader: &ValueReader, patterns: Vec<String>) -> Option<Vec<String>> {
    if patterns.is_empty() {
        let problem = reader.problem("the list is empty");
        reader.report(
            problem.hint("leave `filter` out to publish everything, or write `excludeAll: true` to publish nothing"),
        );
        return None;
    }
    Some(patterns)
}

fn read_overrides(
    reader: &ValueReader,
    kind: PatternKind,
    patterns: &mut Vec<ItemPattern>,
) -> Option<IndexMap<String, Map<String, Value>>> {
    let overrides = reader.map(|original, reader| {
        patterns.push(item_pattern(reader, kind, original, true));
        let mut fields = reader.fields()?;
        let mut found = Map::new();
        let mut set = |key: &str, value: Option<Value>| found.insert(key.to_owned(), value.unwrap_or_default());
        if kind == PatternKind::Resources {
            set("uri", fields.read("uri", |uri| read_uri(uri, original)));
        }
        set("name", fields.read("name", ValueReader::word).map(Into::into));
        set("title", fields.read("title", ValueReader::string).map(Into::into));
        set("description", fields.read("description", ValueReader::string).map(Into::into));
        if kind == PatternKind::Tools {
            set("annotations", fields.read("annotations", ValueReader::json_object).map(Into::into));
        }
        fields.finish();
        Some(found)
    });
    overrides.map(|overrides| overrides.into_iter().collect())
}

/// A template's own text is what its server understands, so only the URI of a single resource can be replaced.
fn read_uri(reader: &ValueReader, original: &str) -> Option<Value> {
    if original.contains('{') {
        let problem = reader.problem("the URI of a resource template cannot be changed");
        reader
            .report(problem.hint("override its `name`, `title` or `description`, or publish it from a session script"));
        return None;
    }
    reader.word().map(Into::into)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Aggregation;
    use crate::testing::{errors, loaded, rendered};

    #[test]
    fn a_script_sees_every_key_with_its_default() {
        let expected = json!({
            "conflictResolution": "auto",
            "conflictResolutionConfig": {"prefixFormat": "{workload}_", "priorityOrder": []},
            "excludeAllTools": false,
            "defaultToolVisibility": "allow",
            "tools": [],
            "prompts": [],
            "resources": [],
        });
        assert_eq!(Aggregation::default().to_json(), expected);
    }

    #[test]
    fn what_is_set_is_seen_by_a_script() {
        let config = loaded(
            "mcpServers: {gh: {command: x}}\naggregation:\n  conflictResolution: priority\n  \
             conflictResolutionConfig: {prefixFormat: '{workload}.', priorityOrder: [gh]}\n  defaultToolVisibility: deny\n  tools:\n  \
             - {workload: gh, filter: ['list_*'], overrides: {a: {name: b, annotations: {readOnlyHint: true}}}}\n  prompts:\n  \
             - {workload: gh, exclude: [old], overrides: {a: {title: B}}}\n  resources:\n  \
             - {workload: gh, excludeAll: true, overrides: {'x:a': {uri: 'y:a'}, 'x:{b}': {name: c}}}\n",
        );
        let seen = config.aggregation.to_json();
        assert_eq!(seen["conflictResolutionConfig"], json!({"prefixFormat": "{workload}.", "priorityOrder": ["gh"]}));
        let replaced = json!({"name": "b", "title": null, "description": null, "annotations": {"readOnlyHint": true}});
        let tools = json!([{"workload": "gh", "filter": ["list_*"], "exclude": [], "excludeAll": false, "overrides": {"a": replaced}}]);
        assert_eq!(seen["tools"], tools);
        let replaced = json!({"name": null, "title": "B", "description": null});
        let prompts = json!([{"workload": "gh", "filter": null, "exclude": ["old"], "excludeAll": false, "overrides": {"a": replaced}}]);
        assert_eq!(seen["prompts"], prompts);
        let overrides = &seen["resources"][0]["overrides"];
        assert_eq!(overrides["x:a"], json!({"uri": "y:a", "name": null, "title": null, "description": null}));
        assert_eq!(overrides["x:{b}"], json!({"uri": null, "name": "c", "title": null, "description": null}));
        assert_eq!(seen["resources"][0]["excludeAll"], true);
        assert_eq!((config.set_sections[0].name, config.set_sections[0].place.line()), ("aggregation", 2));
    }

    #[test]
    fn an_override_has_only_the_keys_of_its_kind() {
        let found = errors(
            "aggregation:\n  tools:\n  - {workload: a, overrides: {x: {uri: 'a:b'}}}\n  prompts:\n  \
             - {workload: a, overrides: {x: {annotations: {}}}}\n  resources:\n  \
             - {workload: a, exclude: x, overrides: {'x:{a}': {uri: 'y:{a}'}, 'x:a': {annotations: {}}}}\n",
        );
        let expected = [
            "3: unknown key `aggregation.tools[0].overrides.x.uri`",
            "5: unknown key `aggregation.prompts[0].overrides.x.annotations`",
            "7: `aggregation.resources[0].exclude`: expected a list, found `x`",
            "7: `aggregation.resources[0].overrides.x:{a}.uri`: the URI of a resource template cannot be changed",
            "7: unknown key `aggregation.resources[0].overrides.x:a.annotations`",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            let (line, text) = expected.split_once(": ").unwrap();
            assert!(found.starts_with(&format!("{line}:")) && found.contains(text), "{found}");
        }
    }

    #[test]
    fn names_are_checked_against_servers_and_extensions() {
        let config = loaded(
            "aggregation:\n  conflictResolutionConfig: {priorityOrder: [githb]}\n  tools:\n  \
             - workload: github\n  - workload: zebra\n  prompts:\n  - workload: notse\n",
        );
        assert_eq!(
            rendered(&config.aggregation.unknown_workloads(&["github", "notes"])),
            [
                "2:46 `aggregation.conflictResolutionConfig.priorityOrder[0]`: there is no server or extension `githb` \
                 (did you mean `github`?)",
                "5:15 `aggregation.tools[1].workload`: there is no server or extension `zebra` (the servers and extensions \
                 are github, notes)",
                "7:15 `aggregation.prompts[0].workload`: there is no server or extension `notse` (did you mean `notes`?)",
            ]
        );
        let found = errors("aggregation:\n  resources:\n  - workload: github\n  - workload: github\n  - exclude: []\n");
        assert_eq!(
            found,
            [
                "4:15 `aggregation.resources[1].workload`: duplicate entry for this workload",
                "5:5 `aggregation.resources[2]`: missing key `workload` (name of a server or extension)",
            ]
        );
    }

    #[test]
    fn an_empty_filter_is_refused_because_it_may_mean_all_or_nothing() {
        let found = errors("aggregation:\n  tools:\n  - workload: github\n    filter: []\n");
        assert_eq!(
            found,
            [
                "4:13 `aggregation.tools[0].filter`: the list is empty (leave `filter` out to publish everything, or write \
              `excludeAll: true` to publish nothing)"
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
