//! Which operations become tools, and what is known of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::*;
use crate::{DescriptionError, Given, OtherFiles};

struct Files(HashMap<&'static str, Value>);

impl OtherFiles for Files {
    fn read(&self, path: &str) -> Result<Value, String> {
        self.0.get(path).cloned().ok_or_else(|| format!("there is no `{path}`"))
    }
}

#[test]
fn circles_of_other_references_are_left_out() {
    let description = json!({
        "openapi": "3.1.0",
        "paths": {
            "/a": {"$ref": "#/paths/~1b"},
            "/b": {"$ref": "#/paths/~1a"},
            "/c": {"get": {"parameters": [{"$ref": "#/components/parameters/P"}]}},
            "/d": {"get": {"responses": {"200": {"$ref": "#/components/responses/R"}}}},
        },
        "components": {
            "parameters": {"P": {"$ref": "#/components/parameters/P"}},
            "responses": {"R": {"$ref": "#/components/responses/R"}},
        },
    });
    let api = read(&description);
    let names: Vec<&str> = api.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["get_d"]);
    assert_eq!(api.notes.len(), 3, "{:?}", api.notes);
    assert!(api.notes.iter().any(|note| note.starts_with("GET /c is left out: a parameter is unknown")));
}

#[test]
fn other_files_are_read_below_the_folder_only() {
    let files = Files(HashMap::from([
        (
            "paths/pets.yaml",
            json!({"get": {"parameters": [{"$ref": "../parts.yaml#/Limit"}],
            "requestBody": {"$ref": "body.yaml"}}}),
        ),
        (
            "parts.yaml",
            json!({"Limit": {"name": "limit", "in": "query", "schema": {"$ref": "#/Number"}},
            "Number": {"type": "integer"}, "Pet": {"type": "object", "properties": {"n": {"$ref": "#/Number"}}}}),
        ),
        ("paths/body.yaml", json!({"content": {"application/json": {"schema": {"$ref": "../parts.yaml#/Pet"}}}})),
    ]));
    let description = json!({
        "openapi": "3.0.0",
        "paths": {
            "/pets": {"$ref": "paths/pets.yaml"},
            "/secret": {"post": json_body(json!({"type": "array", "items": {"$ref": "../../etc/passwd"}}))},
            "/far": {"post": json_body(json!({"type": "array", "items": {"$ref": "https://evil.example/s.json"}}))},
        },
    });
    let api = Api::from_value(&description, Source { others: &files, ..SOURCE }).unwrap();
    let schema = input(&api.tools[0]);
    assert!(accepts(&schema, &json!({"limit": 1, "n": 2})));
    assert!(!accepts(&schema, &json!({"limit": "1"})) && !accepts(&schema, &json!({"n": "2"})));
    for tool in &api.tools[1..] {
        assert_eq!(input(tool)["properties"]["body"]["items"], json!({}));
    }
    assert_eq!(api.notes.iter().filter(|note| note.contains("outside the folder")).count(), 2, "{:?}", api.notes);
}

#[test]
fn parameters_of_the_path_item_belong_to_each_operation() {
    let api = api(
        json!({"/a/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "v", "in": "query", "schema": {"type": "integer"}},
            ],
            "get": {"parameters": [{"name": "v", "in": "query", "required": true, "schema": {"type": "string"}}]},
            "delete": {},
        }}),
        json!({}),
    );
    let schema = input(&api.tools[0]);
    assert_eq!(schema["properties"], json!({"id": {"type": "integer"}, "v": {"type": "string"}}));
    assert_eq!(schema["required"], json!(["id", "v"]));
    assert_eq!(input(&api.tools[1])["required"], json!(["id"]));
}

#[test]
fn tools_have_valid_and_unique_names() {
    let get = |id: Value| json!({"get": {"operationId": id}});
    let api = api(
        json!({"/a": get(json!("list")), "/b": get(json!("list")), "/c/{d}": get(json!(null)), "/e": get(json!("a/b c!"))}),
        json!({}),
    );
    let names: Vec<&str> = api.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["list", "list_2", "get_c_d", "a_b_c"]);
}

#[test]
fn only_operations_that_do_something_are_tools() {
    let item = json!({"get": {}, "head": {}, "options": {}, "trace": {}, "x-own": {}, "summary": "s",
        "post": {"callbacks": {"done": {"{$request.body#/url}": {"post": {}}}}}});
    let api = read(&json!({"openapi": "3.1.0", "paths": {"/a": item}, "webhooks": {"new": {"post": {}}}}));
    let names: Vec<&str> = api.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["get_a", "post_a"]);
    assert_eq!(read(&json!({"openapi": "3.1.0", "webhooks": {}})).tools.len(), 0);
}

#[test]
fn the_script_finds_the_route_and_hints_follow_the_method() {
    let operation = json!({"tags": ["pets", 1], "deprecated": true, "summary": "Find", "description": "Finds pets."});
    let found = definition(&tool("get", "/pets", operation));
    assert_eq!(
        found["_meta"]["extra"],
        json!({"method": "GET", "path": "/pets", "tags": ["pets"], "deprecated": true})
    );
    assert_eq!((&found["title"], &found["description"]), (&json!("Find"), &json!("Finds pets.")));
    assert_eq!(found["annotations"], json!({"readOnlyHint": true, "openWorldHint": true}));
    let hints = |method: &str| definition(&tool(method, "/pets", json!({})))["annotations"].clone();
    assert_eq!(hints("put"), json!({"idempotentHint": true, "openWorldHint": true}));
    assert_eq!(hints("delete"), json!({"destructiveHint": true, "idempotentHint": true, "openWorldHint": true}));
    assert_eq!(hints("post"), json!({"openWorldHint": true}));
    assert_eq!(hints("patch"), json!({"openWorldHint": true}));
}

#[test]
fn versions_are_told_apart() {
    let version = |description: Value| Api::from_value(&description, SOURCE).map(|api| api.notes);
    assert!(matches!(version(json!({"swagger": "2.0"})), Err(DescriptionError::Swagger)));
    assert!(DescriptionError::Swagger.to_string().contains("swagger2openapi"));
    assert!(matches!(version(json!({"paths": {}})), Err(DescriptionError::NotOpenApi)));
    assert!(matches!(version(json!([])), Err(DescriptionError::NotOpenApi)));
    assert!(matches!(version(json!({"openapi": "4.0.0"})), Err(DescriptionError::Version(_))));
    assert_eq!(
        version(json!({"openapi": "3.2.0"})).unwrap(),
        ["OpenAPI 3.2.0 is read as 3.1; what is new in it is ignored"]
    );
    assert_eq!(version(json!({"openapi": 3.1})).unwrap(), [""; 0], "YAML without quotes");
    assert!(matches!(Api::from_json("{", SOURCE), Err(DescriptionError::Unreadable(_))));
}

#[test]
fn a_definition_that_cannot_be_read_elsewhere_has_no_part_in_others() {
    // How serde_json passes numbers.
    let posing = r#"{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {"content": {"application/json":
        {"schema": {"type": "object", "default": {"$serde_json::private::Number": "oops"}}}}}}}}}}"#;
    let api = Api::from_json(posing, SOURCE).unwrap();
    assert!(api.tools[0].definition.get().contains(r#""name":"get_a""#), "{}", api.tools[0].definition.get());
}

#[test]
fn hostile_patterns_and_names_take_little_time() {
    let start = Instant::now();
    let member =
        |number: usize| (format!("m{number}"), json!({"type": "string", "pattern": format!("\\p{{L}}{{{number}}}")}));
    let large: serde_json::Map<String, Value> = (300..1300).map(member).collect();
    let honest = json!({"type": "string", "pattern": "^[a-z]{1,63}$"});
    let parameter = json!({"name": "p", "in": "query", "schema": honest});
    let body = json_body(json!({"type": "object", "properties": large}));
    let first = json!({"operationId": "same", "parameters": [parameter], "requestBody": body["requestBody"]});
    let mut paths = serde_json::Map::from_iter([("/first".to_owned(), json!({"post": first}))]);
    let mut schemas = serde_json::Map::new();
    for number in 0..5000 {
        let schema =
            json!({"type": "object", "properties": {"x": {"$ref": format!("#/components/schemas/n{number}/items")}}});
        paths.insert(
            format!("/p{number}"),
            json!({"post": {"operationId": "same", "requestBody": json_body(schema)["requestBody"]}}),
        );
        schemas.insert(format!("n{number}"), json!({"items": {"type": "string"}}));
    }
    let api = api(paths.into(), schemas.into());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!((api.tools[0].name.as_str(), api.tools[5000].name.as_str()), ("same", "same_5001"));
    let schema = input(&api.tools[0]);
    assert_eq!(schema["properties"]["p"], honest, "an honest pattern stays");
    assert_eq!(schema["properties"]["m1299"].get("pattern"), None);
    assert!(api.notes.iter().any(|note| note.contains("too large patterns")), "{:?}", api.notes);
}

#[test]
fn a_description_that_repeats_itself_takes_little_time() {
    let members = |count: usize| -> Value {
        let member = json!({"type": "string", "description": "x".repeat(100)});
        Value::Object((0..count).map(|name| (format!("m{name}"), member.clone())).collect())
    };
    let object = |count: usize| json!({"type": "object", "properties": members(count)});
    let parameter = json!({"$ref": "#/components/parameters/P"});
    let operation = json!({"parameters": [parameter],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}}});
    let paths: serde_json::Map<String, Value> =
        (0..2000).map(|path| (format!("/p{path}"), json!({"post": operation}))).collect();
    let description = json!({
        "openapi": "3.1.0",
        "paths": paths,
        "components": {
            "parameters": {"P": {"name": "p", "in": "query", "schema": object(5000)}},
            "schemas": {"Body": object(5000)},
        },
    });
    let start = Instant::now();
    let api = read(&description);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(api.tools.len(), 2000);
    assert!(api.tools.iter().all(|tool| tool.definition.get().len() < 70 << 10));
}

#[test]
fn a_path_item_at_many_paths_takes_little_time() {
    let security: Vec<Value> = (0..20_000).map(|name| json!({format!("s{name}"): []})).collect();
    let parameters: Vec<Value> = (0..900).map(|name| json!({"name": format!("p{name}"), "in": "query"})).collect();
    let item = json!({"parameters": parameters, "get": {"security": security, "tags": vec!["t".repeat(10_000); 200]}});
    let paths: serde_json::Map<String, Value> =
        (0..9000).map(|path| (format!("/p{path}"), json!({"$ref": "#/components/pathItems/Item"}))).collect();
    let schemes = json!({"s7": {"type": "apiKey", "in": "header", "name": "X-Key"}});
    let description = json!({
        "openapi": "3.1.0",
        "paths": paths,
        "components": {"pathItems": {"Item": item}, "securitySchemes": schemes},
    });
    let start = Instant::now();
    let api = read(&description);
    let missing = api.security.missing(&Given::default());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(api.tools.len(), 100);
    assert!(api.notes.iter().any(|note| note.starts_with("more than 100 paths refer to one path item")));
    assert!(api.tools.iter().all(|tool| tool.definition.get().len() < 100 << 10));
    assert_eq!(missing, None, "the other alternatives name no known scheme");
}

#[test]
fn operations_with_ten_thousand_different_needs_take_little_time() {
    let operation = |number: usize| json!({"get": {"security": [{format!("s{number}"): []}]}});
    let paths: serde_json::Map<String, Value> =
        (0..10_000).map(|number| (format!("/p{number}"), operation(number))).collect();
    let scheme = |number: usize| json!({"type": "apiKey", "in": "query", "name": format!("q{number}")});
    let schemes: serde_json::Map<String, Value> =
        (0..10_000).map(|number| (format!("s{number}"), scheme(number))).collect();
    let description = json!({"openapi": "3.1.0", "paths": paths, "components": {"securitySchemes": schemes}});
    let start = Instant::now();
    let api = read(&description);
    let missing = api.security.missing(&Given::default()).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(missing.starts_with("10000 operations ask for credentials"), "{missing}");
}
