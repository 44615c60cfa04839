//! `docs/reference/config.md` lists exactly the keys that the config has, and the documents list exactly the presets.
//!
//! The keys are found from outside: for an unknown key, the config names the known keys beside it.

use std::collections::BTreeSet;

use proxy_builtins::presets::PRESETS;
use proxy_config as config;
use serde_json::{Value, json};

use super::markdown::{self, Section};
use super::root;
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

/// A key that is unknown everywhere, and not near any known key.
const PROBE: &str = "qqqqqqqqqqqqqqqqqqqqqqqq";

/// The deepest keys are those of `profiles.NAME.aggregation.tools[].overrides.NAME.title`.
const MAX_DEPTH: usize = 8;

/// One step from the root of a config to a map.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    /// Any key of a map with free keys, such as the name of a server.
    AnyKey,
    Item,
}

/// The keys beside the probe in the map at this path; none if there is no map with fixed keys.
fn known_keys(path: &[Step]) -> Vec<String> {
    let probe = json!({PROBE: 1});
    let document = path.iter().rev().fold(probe, |inner, step| match step {
        Step::Key(key) => json!({key: inner}),
        Step::AnyKey => json!({"name": inner}),
        Step::Item => Value::Array(vec![inner]),
    });
    let folder = TempDir::new();
    let nothing = |_: &str| None;
    let loaded = config::load_text(&folder.path().join("proxy.json"), &document.to_string(), &nothing);
    let Err(problems) = loaded else { return Vec::new() };
    let unknown =
        problems.iter().find(|problem| problem.message.starts_with("unknown key") && problem.message.contains(PROBE));
    let Some(hint) = unknown.and_then(|problem| problem.hint.as_deref()) else { return Vec::new() };
    let (_, keys) = hint.split_once(": ").unwrap_or_else(|| panic!("the hint lists no keys: {hint}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// The paths of all keys at and below a map, without free keys and list items: `restart.maxBackoff`.
fn paths_below(path: &[Step], found: &mut BTreeSet<Vec<String>>) {
    if path.len() > MAX_DEPTH {
        return;
    }
    for key in known_keys(path) {
        let mut path = path.to_vec();
        path.push(Step::Key(key));
        found.insert(names(&path));
        for shape in [None, Some(Step::AnyKey), Some(Step::Item)] {
            let mut path = path.clone();
            path.extend(shape);
            paths_below(&path, found);
        }
    }
}

fn names(path: &[Step]) -> Vec<String> {
    let keys = path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.clone()),
        Step::AnyKey | Step::Item => None,
    });
    keys.collect()
}

fn all_keys() -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    paths_below(&[], &mut found);
    found
}

fn page() -> Vec<Section> {
    markdown::sections(&root().join("docs/reference/config.md"))
}

/// `tools[].filter` as `tools`, `filter`.
fn parts(span: &str) -> Vec<String> {
    span.replace("[]", "").split('.').map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented_in_its_section() {
    let keys = all_keys();
    assert!(keys.len() > 80, "only {} keys were found", keys.len());
    let sections = page();
    let everything = markdown::read(&root().join("docs/reference/config.md"));
    for key in &keys {
        // What a profile replaces is described where the top level has it.
        let key = match key.as_slice() {
            [profiles, section, _, ..] if profiles == "profiles" && section != "auth" => &key[1..],
            key => key,
        };
        let [top, .., name] = key else {
            let [top] = key else { unreachable!("a path has a key") };
            assert!(
                everything.contains(&format!("`{top}`")) || sections.iter().any(|section| section.title == *top),
                "{top}"
            );
            continue;
        };
        // VS Code's name for the same section, and the defaults of its keys.
        let title = if ["servers", "defaults"].contains(&top.as_str()) { "mcpServers" } else { top };
        let section = sections.iter().find(|section| section.title == title);
        let section = section.unwrap_or_else(|| panic!("docs/reference/config.md has no section `{title}`"));
        let spans = section.rows().into_iter().flatten().flat_map(|cell| markdown::code_spans(&cell));
        let is_named = spans.into_iter().any(|span| parts(&span).contains(name));
        assert!(is_named, "docs/reference/config.md does not have `{}`", key.join("."));
    }
}

#[test]
fn every_documented_key_exists() {
    let keys = all_keys();
    let mut checked = 0;
    for section in page().iter().filter(|section| section.text.contains("\n| key |")) {
        for span in section.rows().iter().flat_map(|row| markdown::code_spans(&row[0])) {
            let parts = parts(&span);
            let exists = keys.iter().any(|key| key[0] == section.title && key.ends_with(&parts));
            assert!(exists, "docs/reference/config.md has `{span}` in `{}`, which does not exist", section.title);
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} keys were checked");
}

fn presets() -> BTreeSet<String> {
    PRESETS.iter().map(|preset| preset.name.to_owned()).collect()
}

#[test]
fn the_documents_list_every_preset_and_no_other() {
    let without_version = |span: String| span.split('@').next().unwrap_or_default().to_owned();
    let config = page();
    let rows = config.iter().find(|section| section.title == "sessionInit").expect("the section").rows();
    let row = rows.iter().find(|row| row[0] == "`preset`").expect("the row");
    let listed: BTreeSet<String> = markdown::code_spans(&row[2]).into_iter().map(without_version).collect();
    assert_eq!(listed, presets(), "docs/reference/config.md");
    let concepts = markdown::sections(&root().join("docs/concepts/concepts.md"));
    let section = concepts.iter().find(|section| section.title == "Presets").expect("the section");
    let listed: BTreeSet<String> = section.rows().iter().flat_map(|row| markdown::code_spans(&row[0])).collect();
    assert_eq!(listed, presets(), "docs/concepts/concepts.md");
}

/// The paths of all keys of a schema, without free keys and list items.
fn keys_of(schema: &Value, path: &[String], found: &mut BTreeSet<Vec<String>>) {
    for below in [&schema["items"], &schema["additionalProperties"]] {
        if below.is_object() {
            keys_of(below, path, found);
        }
    }
    for (key, below) in schema["properties"].as_object().into_iter().flatten() {
        let path: Vec<String> = path.iter().cloned().chain([key.clone()]).collect();
        found.insert(path.clone());
        keys_of(below, &path, found);
    }
}

#[tokio::test]
async fn the_schema_for_editors_has_the_same_keys_with_their_descriptions() {
    let printed = Proxy::with_config_text("").run(["config-schema"]).await.expect(0).json();
    let mut keys = BTreeSet::new();
    keys_of(&printed, &[], &mut keys);
    let probed = all_keys();
    assert_eq!(probed.difference(&keys).collect::<Vec<_>>(), Vec::<&Vec<String>>::new());
    // A probe does not get behind what is required.
    let is_rate = |key: &Vec<String>| key.iter().any(|part| part == "maxTokens" || part == "refillPeriod");
    let more: Vec<_> = keys.difference(&probed).filter(|key| !is_rate(key)).collect();
    assert!(more.is_empty(), "{more:?}");
    let command = &printed["properties"]["mcpServers"]["additionalProperties"]["properties"]["command"];
    assert!(command["description"].as_str().is_some_and(|text| text.starts_with("Program to run")), "{command}");
    let described = |schema: &Value| schema.to_string().matches("\"description\"").count();
    assert!(described(&printed) > 120, "{}", described(&printed));
}
