//! `proxy types`: what the published tools take and give, in the words of a language.

use serde_json::{Value, json};

use super::world;
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

/// Everything that schemas are made of.
fn odd_tools() -> Value {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {}}, "required": ["v"]});
    json!([
        {
            "name": "list-issues", "title": "Issues", "description": "Lists */ issues.\nSecond line.",
            "inputSchema": {
                "type": "object", "required": ["state", "odd-key"],
                "properties": {
                    "state": {"enum": ["open", "closed", null, 3], "description": "Which */ ones"},
                    "odd-key": {"type": ["string", "null"]},
                    "limit": {"type": "integer", "default": 10},
                    "labels": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
                    "extra": {"type": "object", "additionalProperties": {"type": "boolean"}},
                    "filter": {"$ref": "#/$defs/Node"},
                    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"const": 1}], "items": false},
                    "class": {"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]},
                    "both": {"allOf": [{"$ref": "#/$defs/Node"}, {"type": "object", "properties": {"w": {"type": "number"}}}]},
                    "maybe": {"type": "string", "nullable": true},
                    "outside": {"$ref": "https://example.com/schema"},
                },
                "$defs": {"Node": node},
            },
            "outputSchema": {"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}, "required": ["result"]},
        },
        {"name": "list_issues", "inputSchema": {"type": "object"}},
        {"name": "delete", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}},
        {"name": "a b", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": true}},
        {"name": "tree", "inputSchema": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}},
    ])
}

pub fn odd_world() -> Proxy {
    let proxy = Proxy::with_config_text("");
    let tools = proxy.directory.write("tools.json", &odd_tools().to_string());
    let server = fake_backend(["--tools", tools.to_str().expect("a path")]);
    let config = Config::new().server("odd", &server).section("sessionInit: { preset: passthrough }");
    proxy.file("proxy.yaml", &config.text())
}

#[tokio::test]
async fn one_line_for_each_tool_in_starlark() {
    let finished = world().run(["types", "--lang", "star", "--filter", "s*"]).await.expect(0);
    assert_eq!(finished.stdout, "search()\n    Returns its arguments.\nslow(ms?: int)\n    Waits before it answers.\n");
    let text = odd_world().run(["types", "--lang", "star"]).await.expect(0).stdout;
    let first = text.lines().next().expect("a line");
    assert_eq!(
        first,
        "call_tool(\"list-issues\", {state: \"open\" | \"closed\" | None | 3, \"odd-key\": str | None, limit: int = 10, \
         labels?: list[str | float], extra?: dict[str, bool], filter?: {next?: dict, v: any}, pair?: list, \
         \"class\"?: {a?: str} | None, both?: {next?: dict, v: any} & {w?: float}, maybe?: str | None, outside?: any}) -> list[str]"
    );
    assert!(text.contains("\nlist_issues(") || text.contains("\ncall_tool(\"list_issues\", dict)"), "{text}");
    assert!(text.contains("\na_b(x?: str)"), "{text}");
}

#[tokio::test]
async fn schemas_by_tool() {
    let world = odd_world();
    let schemas = world.run(["types", "--lang", "json-schema"]).await.expect(0).json();
    assert_eq!(schemas["list-issues"]["arguments"], odd_tools()[0]["inputSchema"]);
    assert_eq!(schemas["list-issues"]["result"], odd_tools()[0]["outputSchema"]);
    assert!(schemas["delete"].get("result").is_none());
    let finished = world.run(["types", "--filter", "nothing*"]).await.expect(1);
    assert!(finished.stderr.contains("no published tool matches"), "{}", finished.stderr);
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn typescript_of_odd_schemas_passes_the_strict_compiler() {
    let world = odd_world();
    let types = world.run(["types"]).await.expect(0).stdout;
    for expected in [
        "export interface ListIssuesNode {\n  next?: ListIssuesNode;\n  v: unknown;\n}",
        "  /** Which *\\/ ones */\n  state: \"open\" | \"closed\" | null | 3;",
        "  \"odd-key\": string | null;",
        "  /** @default 10 */\n  limit?: number;",
        "  labels?: Array<string | number>;",
        "  extra?: Record<string, boolean>;",
        "  pair?: [string, 1];",
        "  maybe?: string | null;",
        "export declare function listIssues(args: ListIssuesArguments): Promise<ListIssuesResult>;",
        "export declare function listIssues2(args?: ListIssuesArguments2): Promise<unknown>;",
        "export declare function delete2(args?: DeleteArguments): Promise<unknown>;",
        "  [key: string]: unknown;",
        "Lists *\\/ issues.",
    ] {
        assert!(types.contains(expected), "{expected}\n{types}");
    }
    let Some(mut compiler) = real_servers::typescript_compiler() else { return };
    world.directory.write("tools.ts", &types);
    compiler.args(["--strict", "--noEmit", "--target", "es2022", "tools.ts"]).current_dir(world.directory.path());
    Finished::run(compiler).await.expect(0);
}
