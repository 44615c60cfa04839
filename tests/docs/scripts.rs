//! Script blocks: each is a whole session script or a whole extension.

use std::path::Path;
use std::sync::Arc;

use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{Plan, Settings, run_session_script};
use proxy_engine::extension;
use proxy_host_io::HostIo;
use proxy_json::raw;
use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Lists, ServerInfo, Snapshot, SurfaceKey};
use proxy_script::{Limits, Source};
use serde_json::{Value, json};

use super::blocks;

/// The servers that the examples of the documents are about.
fn snapshot() -> Arc<Snapshot> {
    let github = backend("github", &["search", "create_issue", "list_issues", "delete_repository"]);
    let docs = backend("docs", &["search", "read"]);
    let time = backend("time", &["get_current_time", "convert_time"]);
    let backends = vec![github, docs, time, petstore()];
    Arc::new(Snapshot { version: 1, generation: 1, backends })
}

/// An API with one operation.
fn petstore() -> Arc<BackendView> {
    let definition = json!({
        "name": "getPetById", "description": "Finds a pet",
        "inputSchema": {"type": "object", "properties": {"petId": {"type": "integer"}}},
        "_meta": {"extra": {"method": "GET", "path": "/pet/{petId}", "tags": ["pets"], "deprecated": false}},
    });
    let tool = Definition::parse(ItemKind::Tool, raw(&definition)).expect("it is a tool");
    let lists = Lists { tools: vec![Arc::new(tool)], ..Lists::default() };
    Arc::new(BackendView::ready("petstore", BackendKind::OpenApi, ServerInfo::default(), lists))
}

fn backend(name: &str, tools: &[&str]) -> Arc<BackendView> {
    let tool = |tool: &&str| {
        let reads = !tool.contains("create") && !tool.contains("delete");
        let definition = json!({
            "name": tool, "description": "What it does",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "owner": {"type": "string"}, "repo": {"type": "string"}},
            },
            "annotations": {"readOnlyHint": reads},
        });
        Arc::new(Definition::parse(ItemKind::Tool, raw(&definition)).expect("it is a tool"))
    };
    let template = json!({"uriTemplate": "file:///docs/{path}", "name": "files"});
    let template = Definition::parse(ItemKind::ResourceTemplate, raw(&template)).expect("it is a template");
    Arc::new(BackendView::ready(
        name,
        BackendKind::Stdio,
        ServerInfo::default(),
        Lists {
            tools: tools.iter().map(tool).collect(),
            resource_templates: vec![Arc::new(template)],
            ..Lists::default()
        },
    ))
}

/// What extensions of the documents can reach while they are loaded: nothing.
pub fn host_io() -> Arc<HostIo> {
    Arc::new(HostIo::new(Vec::new(), None))
}

fn settings() -> Arc<Settings> {
    let Value::Object(sections) = json!({
        "aggregation": {"conflictResolution": "auto"},
        "params": {"owner": "octo", "hidden": ["delete_*"]},
    }) else {
        unreachable!("it is an object")
    };
    Arc::new(Settings { sections, ..Settings::default() })
}

/// Runs a session script over those servers.
pub fn run(source: &Source) -> Result<Plan, Diagnostic> {
    run_session_script(
        source,
        Path::new(super::root()),
        snapshot(),
        settings(),
        SurfaceKey::anonymous(),
        &Limits::SESSION_SCRIPT,
    )
    .map_err(|error| *error.diagnostic)
}

#[test]
fn every_script_runs_and_publishes_something() {
    let mut blocks = blocks(&["python"]);
    // Tests are run by `proxy test`.
    blocks.retain(|block| !block.text.contains("def test_"));
    assert!(blocks.len() >= 5, "only {} scripts were found", blocks.len());
    for block in blocks {
        let source = Source::new(block.place.clone(), block.text.as_str());
        if block.text.contains("def describe_extension") {
            let loaded =
                extension::load(&source, &Limits::SESSION_SCRIPT, &host_io()).unwrap_or_else(|error| panic!("{error}"));
            assert!(loaded.is_some_and(|extension| !extension.items.is_empty()), "{}: no tools", block.place);
            continue;
        }
        let plan = run(&source).unwrap_or_else(|error| panic!("{error}"));
        let published = ItemKind::ALL.iter().any(|kind| !plan.items.of(*kind).is_empty());
        assert!(published, "{}: nothing is published", block.place);
    }
}
