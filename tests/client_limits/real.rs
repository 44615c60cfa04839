//! Real servers, and the checks of real clients.

use std::process::Command;

use serde_json::{Value, json};

use super::{LONG, server, tool};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;
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

fn calls() -> Value {
    json!([
        {"tool": LONG, "arguments": {"text": "x"}},
        {"tool": "google_search", "arguments": {"$.xgafv": "2"}},
        {"tool": "snowflake_object", "arguments": {
            "target_object": {"name": "d"}, "mode": "create", "tree": {"children": [{"children": []}]}, "pair": ["a", 1],
            "size": 2, "when": "2026-01-01",
        }},
        {"tool": "union_root", "arguments": {"kind": "b", "b": 1}},
        {"tool": "no_properties", "arguments": {}},
    ])
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn clients_accept_every_tool_of_real_servers_and_their_calls_arrive() {
    let directory = TempDir::new();
    let files = directory.directory("files");
    let Some(rules) = real_servers::client_with_rules() else { return };
    let mut config = Config::new().server("odd", &server(&directory, &odd_tools())).section(super::PASSTHROUGH);
    let others: [(&str, Option<Command>); 4] = [
        ("everything", real_servers::everything()),
        ("filesystem", real_servers::filesystem(&files)),
        ("memory", real_servers::memory(directory.path())),
        ("git", real_servers::git(&directory)),
    ];
    for (name, command) in others {
        let Some(command) = command else { return };
        config = config.server(name, &command);
    }
    let mut proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    for client in ["claude-code", "gemini-cli-mcp-client", "Visual Studio Code", "codex-mcp-client"] {
        let mut command = rules();
        command.arg(&proxy.url).arg(client).arg(calls().to_string());
        let report = Finished::run(command).await.expect(0).json();
        assert_eq!(report["faults"], json!([]), "{client}");
        assert!(report["tools"].as_u64().unwrap() > 40, "{client}: {report}");
        for answer in report["answers"].as_array().unwrap() {
            assert_eq!(answer["content"][0]["text"], "done", "{client}: {report}");
        }
        assert_eq!(report["answers"].as_array().unwrap().len(), 5, "{client}");
    }
}
