//! A new test for a policy: over the tools that are known of the config's servers, and with what the policy publishes of them.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::templates::{TEST_OF_POLICY, filled};
use crate::cli::setup::{self, SourceArgs};
use proxy_author::testing::{self, TestOptions};
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::gateway::Offline;
use proxy_host_io::HostIo;
use proxy_model::{BackendKind, BackendView, Definition};

/// A test with all tools of large servers would be hard to read.
const MOST_TOOLS: usize = 12;
/// The tools of a server that has never been started.
const ANY_TOOLS: &str = r#"        testing.tool("read", annotations = {"readOnlyHint": True}),
        testing.tool("write", annotations = {"readOnlyHint": False}),
"#;
/// In the output of a test, before what the policy publishes.
const MARK: &str = "published by the policy: ";

/// The text of a test.
pub(super) fn text(name: &str, script: &Path) -> String {
    let known = known_servers(script).filter(|servers| !servers.is_empty());
    let servers = known.unwrap_or_else(|| backend("files", ANY_TOOLS));
    filled(TEST_OF_POLICY, name).replace("    # SERVERS\n", &servers)
}

/// Writes what the policy publishes into this file with the text. Running it says what that is.
pub(super) fn add_published(text: &str, file: &Path, root: &Path) -> Result<(), Diagnostic> {
    let write = |text: &str| {
        let problem = |error| Diagnostic::error(format!("cannot write `{}`: {error}", file.display()));
        std::fs::write(file, text).map_err(problem)
    };
    let asking = format!("session().tool_names()\n    print({MARK:?} + repr(published))");
    write(&text.replace("[\"# PUBLISHED\"]", &asking))?;
    let found = published(file, root);
    // Also if it fails, so that the file is a test that somebody can correct.
    let names = found.as_ref().map_or_else(|_| "[]".to_owned(), |names| list(names));
    write(&text.replace("[\"# PUBLISHED\"]", &names))?;
    found.map(|_| ())
}

fn published(file: &Path, root: &Path) -> Result<Vec<String>, Diagnostic> {
    let failed = |error: std::io::Error| Diagnostic::error(format!("cannot run `{}`: {error}", file.display()));
    let host_io = Arc::new(HostIo::new(setup::variables(), std::env::current_exe().ok()));
    let options = TestOptions { root: root.to_owned(), filter: None, host_io };
    let report = testing::run(&[file.to_owned()], &options, |_| {}).map_err(failed)?;
    for ran in report.ran {
        if let Some(failure) = ran.failure {
            return Err(*failure);
        }
        let said = ran.output.iter().find_map(|line| line.strip_prefix(MARK));
        if let Some(names) = said.and_then(|said| serde_json::from_str(said).ok()) {
            return Ok(names);
        }
    }
    Err(Diagnostic::error("the policy did not say what it publishes"))
}

/// The enabled servers of the config, with the tools that they had last; `None` if there is no config.
fn known_servers(script: &Path) -> Option<String> {
    let (loaded, _) = SourceArgs::default().with_script(script).load_with_warnings().ok()?;
    if !loaded.has_file {
        return None;
    }
    let offline = Offline::look(&loaded.config, &setup::options(loaded.bundled).ok()?).ok()?;
    let servers = offline.snapshot.backends.iter().filter(|backend| backend.kind != BackendKind::Extension);
    Some(servers.map(|server| backend(&server.name, &tools(server))).collect())
}

fn backend(name: &str, tools: &str) -> String {
    format!("    {}: testing.backend(tools = [\n{tools}    ]),\n", literal(name))
}

fn tools(server: &BackendView) -> String {
    if server.lists.tools.is_empty() {
        return ANY_TOOLS.to_owned();
    }
    server.lists.tools.iter().take(MOST_TOOLS).map(|definition| tool(definition)).collect()
}

fn tool(definition: &Definition) -> String {
    let name = literal(definition.key());
    let hints: Vec<String> = match definition.member("annotations") {
        Some(Value::Object(annotations)) => annotations
            .iter()
            .filter_map(|(hint, value)| {
                let value = if value.as_bool()? { "True" } else { "False" };
                Some(format!("{}: {value}", literal(hint)))
            })
            .collect(),
        _ => Vec::new(),
    };
    if hints.is_empty() {
        return format!("        testing.tool({name}),\n");
    }
    format!("        testing.tool({name}, annotations = {{{}}}),\n", hints.join(", "))
}

/// A list on one line, or with a line for each name.
fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| literal(name)).collect();
    let line = format!("[{}]", names.join(", "));
    if line.len() <= 100 {
        return line;
    }
    format!("[\n        {},\n    ]", names.join(",\n        "))
}

/// A string of Starlark, which escapes as JSON does.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}
