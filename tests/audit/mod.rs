//! The audit log: what an auditor reads in it, how tampering is found, and what happens when it cannot be written.

mod files;
mod full_disk;
mod lines;
mod verifying;

use std::time::Duration;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stderr_log::StderrLog;

const KEY: &str = "0123456789abcdef0123456789abcdef-s3cret-key";

/// Refuses what is called `closed`, and notes who calls `noted`.
const POLICY: &str = r#"
def on_request(request):
    if "closed" in json.encode(request.arguments):
        fail("closed today")

def noted(args):
    log("noted", level = "audit", ticket = 7)
    return echo(args)

[(meta, echo)] = backends()["fake"].tools()
publish(meta, echo)
publish(metadata("noted", "", {"type": "object", "properties": {"n": {"type": "integer"}}}, {}), noted)
passthrough()
"#;

/// A proxy with a server of one tool, a prompt and a resource, and with these keys of `audit`.
fn world(keys: &str) -> Proxy {
    let backend = fake_backend(["--only", "echo", "--resources", "--prompts"]);
    let config = Config::new()
        .server("fake", &backend)
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("audit: {{ file: logs/audit.jsonl, key: {KEY}, {keys} }}"));
    Proxy::new(&config).file("policy.star", POLICY)
}

fn text(world: &Proxy, file: &str) -> String {
    std::fs::read_to_string(world.directory.path().join("logs").join(file)).unwrap_or_default()
}

fn parsed(text: &str) -> Vec<Value> {
    // The last line may be on its way.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap_or_else(|problem| panic!("{problem}: {line}"))).collect()
}

/// The lines of a file, once they are as wanted.
async fn lines_until(world: &Proxy, file: &str, log: &StderrLog, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let there = async {
        loop {
            let lines = parsed(&text(world, file));
            if wanted(&lines) {
                return lines;
            }
            // No event tells of another process's file.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(&format!("lines of {file}"), log, there).await
}

fn calls(lines: &[Value]) -> usize {
    lines.iter().filter(|line| line["type"] == "mcp_tool_call").count()
}

/// The names of the files of the log.
fn files(world: &Proxy) -> Vec<String> {
    let folder = std::fs::read_dir(world.directory.path().join("logs")).expect("it was made");
    let mut names: Vec<String> =
        folder.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
