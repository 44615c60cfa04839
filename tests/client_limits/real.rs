//! Real servers, and the checks of real clients.

use std::process::Command;

use serde_json::{Value, json};

use super::{LONG, server, tool};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::office_servers as office;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// Schemas as public servers have them: references, recursive types, tuples, unions, odd names.
fn odd_tools() -> Vec<Value> {
    vec![
        tool(LONG, json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})),
        tool(
            "google_search",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["$.xgafv"],
                "properties": {"$.xgafv": {"type": "string", "enum": ["1", "2"], "description": "P:$.xgafv"}},
            }),
        ),
        tool(
            "snowflake_object",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "properties": {
                    "target_object": {"anyOf": [{"$ref": "#/$defs/Database"}, {"$ref": "#/$defs/Schema"}]},
                    "mode": {"const": "create"},
                    "tree": {"$ref": "#/$defs/Node"},
                    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
                    "size": {"type": ["integer", "null"], "enum": [1, 2, null]},
                    "tags": {"type": "array"},
                    "when": {"type": "string", "format": "date"},
                },
                "required": ["target_object"],
                "$defs": {
                    "Database": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                    "Schema": {"type": "object", "properties": {"db": {"$ref": "#/$defs/Database"}}},
                    "Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}},
                },
            }),
        ),
        tool(
            "union_root",
            json!({
                "type": "object",
                "oneOf": [
                    {"properties": {"kind": {"const": "a"}, "a": {"type": "string"}}, "required": ["kind", "a"]},
                    {"properties": {"kind": {"const": "b"}, "b": {"type": "integer"}}, "required": ["kind", "b"]},
                ],
            }),
        ),
        tool("no_properties", json!({"type": "object"})),
    ]
}

/// Calls that need every mapping, and calls of real servers: a part of what the answer says stands beside each.
pub(super) fn calls() -> Vec<(Value, &'static str)> {
    let call = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments});
    let snowflake = json!({
        "target_object": {"name": "d"}, "mode": "create", "tree": {"children": [{"children": []}]}, "pair": ["a", 1],
        "size": 2, "when": "2026-01-01",
    });
    let zones = json!({"source_timezone": "Africa/Nairobi", "time": "09:30", "target_timezone": "Asia/Tokyo"});
    vec![
        (call(LONG, json!({"text": "x"})), "done"),
        (call("google_search", json!({"$.xgafv": "2"})), "done"),
        (call("snowflake_object", snowflake), "done"),
        (call("union_root", json!({"kind": "b", "b": 1})), "done"),
        (call("no_properties", json!({})), "done"),
        (call("calculate", json!({"expression": "6 * 7"})), "42"),
        (call("convert_time", zones), "15:30"),
        (call("echo", json!({"message": "hello"})), "hello"),
        (call("create_presentation", json!({})), "presentation_"),
    ]
}

/// The calls alone, as JSON.
pub(super) fn calls_text() -> String {
    let calls: Vec<Value> = calls().into_iter().map(|(call, _)| call).collect();
    Value::from(calls).to_string()
}

/// A proxy before more than a hundred tools of real servers, and the odd ones. `None` where they cannot be installed.
pub(super) async fn proxy(directory: &TempDir) -> Option<HttpProxy> {
    let files = directory.directory("files");
    let mut config = Config::new().server("odd", &server(directory, &odd_tools())).section(super::PASSTHROUGH);
    let others: [(&str, Option<Command>); 10] = [
        ("everything", real_servers::everything()),
        ("filesystem", real_servers::filesystem(&files)),
        ("memory", real_servers::memory(directory.path())),
        ("git", real_servers::git(directory)),
        ("time", real_servers::time()),
        ("excel", office::excel()),
        ("calculator", office::calculator()),
        ("text-editor", office::text_editor()),
        ("plans", office::task_manager(directory.path())),
        ("slides", office::power_point()),
    ];
    for (name, command) in others {
        config = config.server(name, &command?);
    }
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    // Some servers take seconds to start, and some clients list once only.
    proxy.program.stderr.line("all 11 servers are up").await;
    Some(proxy)
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn clients_accept_every_tool_of_real_servers_and_their_calls_arrive() {
    let directory = TempDir::new();
    let Some(rules) = real_servers::client_with_rules() else { return };
    let Some(proxy) = proxy(&directory).await else { return };
    for client in ["claude-code", "gemini-cli-mcp-client", "Visual Studio Code", "codex-mcp-client"] {
        let mut command = rules();
        command.arg(&proxy.url).arg(client).arg(calls_text());
        let report = Finished::run(command).await.expect(0).json();
        assert_eq!(report["faults"], json!([]), "{client}");
        assert!(report["tools"].as_u64().unwrap() > 100, "{client}: {report}");
        let answers = report["answers"].as_array().unwrap();
        assert_eq!(answers.len(), calls().len(), "{client}");
        for (answer, (call, told)) in answers.iter().zip(calls()) {
            let text = answer["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.contains(told), "{client}, {call}: {answer}");
        }
    }
}
