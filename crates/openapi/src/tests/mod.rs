//! What goes wrong with descriptions elsewhere, one test each; and public descriptions, whole and damaged.

mod descriptions;
mod public;
mod requests;
mod schemas;

use proxy_json::Schema;
use serde_json::{Value, json};

use crate::{Api, ApiRequest, ApiTool, Source};

const SOURCE: Source<'static> = Source { file: "api.yaml", others: &(), url: None, headers: &[], query: &[] };

fn read(description: &Value) -> Api {
    Api::from_value(description, SOURCE).unwrap()
}

/// A description of version 3.0 with these paths and schemas.
fn api(paths: Value, schemas: Value) -> Api {
    read(&json!({"openapi": "3.0.3", "paths": paths, "components": {"schemas": schemas}}))
}

/// The only tool of an operation.
fn tool(method: &str, path: &str, operation: Value) -> ApiTool {
    let mut api = api(json!({ path: { method: operation } }), json!({}));
    assert_eq!(api.tools.len(), 1, "{:?}", api.notes);
    api.tools.remove(0)
}

fn definition(tool: &ApiTool) -> Value {
    serde_json::from_str(tool.definition.get()).unwrap()
}

fn input(tool: &ApiTool) -> Value {
    let schema = definition(tool)["inputSchema"].clone();
    Schema::compile(&schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    schema
}

fn request(tool: &ApiTool, arguments: Value) -> Result<ApiRequest, String> {
    tool.request(&proxy_json::raw(&arguments))
}

fn body(request: &ApiRequest) -> String {
    String::from_utf8(request.body.clone().expect("a body")).unwrap()
}

fn header<'a>(request: &'a ApiRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_str().unwrap())
}

fn accepts(schema: &Value, value: &Value) -> bool {
    Schema::compile(schema).unwrap().check(value).is_ok()
}

fn json_body(schema: Value) -> Value {
    json!({"requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}})
}
