//! What goes wrong with descriptions elsewhere, one test each.

use std::collections::HashMap;

use http::Method;
use proxy_json::{RawRef, Schema};
use serde_json::{Value, json};
use url::Url;

use crate::{Api, ApiRequest, ApiTool, DescriptionError, OtherFiles, Source};

const SOURCE: Source<'static> = Source { file: "api.yaml", others: &(), url: None, headers: &[] };

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

#[test]
fn circular_references_stay_references() {
    let node = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        "twin": {"$ref": "#/components/schemas/Twin"},
    }});
    let schemas = json!({
        "Node": node,
        "Twin": {"allOf": [{"$ref": "#/components/schemas/Node"}]},
        "Self": {"$ref": "#/components/schemas/Self"},
    });
    let whole = |name: &str| json_body(json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}}));
    let api = api(json!({"/a": {"post": whole("Node"), "put": whole("Self")}}), schemas);
    let schema = input(&api.tools[0]);
    assert_eq!(schema["properties"]["body"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(schema["$defs"]["Node"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert!(accepts(&schema, &json!({"body": [{"name": "a", "children": [{"children": []}]}]})));
    assert!(!accepts(&schema, &json!({"body": [{"children": [{"name": 1}]}]})));
    assert_eq!(input(&api.tools[1])["properties"]["body"]["items"], json!({}), "a circle of nothing but references");
    assert!(api.notes.iter().any(|note| note.contains("circle")), "{:?}", api.notes);
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

struct Files(HashMap<&'static str, Value>);

impl OtherFiles for Files {
    fn read(&self, path: &str) -> Result<Value, String> {
        self.0.get(path).cloned().ok_or_else(|| format!("there is no `{path}`"))
    }
}

#[test]
fn other_files_are_read_below_the_folder_only() {
    let files = Files(HashMap::from([
        ("paths/pets.yaml", json!({"get": {"parameters": [{"$ref": "../parts.yaml#/Limit"}],
            "requestBody": {"$ref": "body.yaml"}}})),
        ("parts.yaml", json!({"Limit": {"name": "limit", "in": "query", "schema": {"$ref": "#/Number"}},
            "Number": {"type": "integer"}, "Pet": {"type": "object", "properties": {"n": {"$ref": "#/Number"}}}})),
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
    assert_eq!(api.other_files, ["paths/pets.yaml", "parts.yaml", "paths/body.yaml"]);
    for tool in &api.tools[1..] {
        assert_eq!(input(tool)["properties"]["body"]["items"], json!({}));
    }
    assert_eq!(api.notes.iter().filter(|note| note.contains("outside the folder")).count(), 2, "{:?}", api.notes);
}

#[test]
fn what_stands_beside_a_reference_means_nothing_before_3_1() {
    let paths = json!({"/a": {"get": {"parameters": [
        {"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/A", "maxLength": 1}},
    ]}}});
    let schemas = json!({"A": {"type": "string"}});
    let of = |version: &str| {
        let api = read(&json!({"openapi": version, "paths": paths, "components": {"schemas": schemas}}));
        input(&api.tools[0])["properties"]["a"].clone()
    };
    assert_eq!(of("3.0.3"), json!({"$ref": "#/$defs/A"}));
    assert_eq!(of("3.1.0"), json!({"$ref": "#/$defs/A", "maxLength": 1}));
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
fn names_that_collide_tell_where_they_belong() {
    let operation = json!({
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "id", "in": "query", "schema": {"type": "string"}},
            {"name": "id", "in": "header", "schema": {"type": "string"}},
            {"name": "id", "in": "cookie", "schema": {"type": "string"}},
            {"name": "path_id", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object",
            "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}}}},
    });
    let tool = tool("post", "/a/{id}", operation);
    let names: Vec<String> = input(&tool)["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["path_id_", "query_id", "header_id", "cookie_id", "path_id", "body_id", "name"]);
    let arguments = json!({"path_id_": "p", "query_id": "q", "header_id": "h", "cookie_id": "c", "path_id": "x", "body_id": "b"});
    let request = request(&tool, arguments).unwrap();
    assert_eq!((request.path.as_str(), request.query.as_str()), ("/a/p", "id=q&path_id=x"));
    assert_eq!((header(&request, "id"), header(&request, "cookie")), (Some("h"), Some("id=c")));
    assert_eq!(body(&request), r#"{"id":"b"}"#);
}

#[test]
fn lists_and_unions_are_one_argument() {
    for schema in [
        json!({"type": "array", "items": {"type": "integer"}}),
        json!({"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "string"}),
        json!({}),
    ] {
        let tool = tool("post", "/a", json_body(schema.clone()));
        assert_eq!(input(&tool)["required"], json!(["body"]), "{schema}");
        let request = request(&tool, json!({"body": [1, 2]})).unwrap();
        assert_eq!(body(&request), "[1,2]");
    }
    // Alternatives that only require members are the API's to check.
    let constrained = json!({"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(input(&tool("post", "/a", json_body(constrained)))["properties"].get("b").is_some());
}

#[test]
fn a_json_body_keeps_the_bytes_of_its_values() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}, "o": {}}});
    let tool = tool("post", "/a", json_body(schema));
    let arguments = proxy_json::valid(r#"{"o": {"b":1e400, "a":1.10}, "n": 1.10}"#.to_owned()).unwrap();
    let request = tool.request(&arguments).unwrap();
    assert_eq!(body(&request), r#"{"n":1.10,"o":{"b":1e400, "a":1.10}}"#);
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(body(&super::pitfall_tests::request(&tool, json!({})).unwrap()), "{}", "a body is required");
}

#[test]
fn a_form_has_brackets_where_the_description_says_so() {
    let deep = json!({"style": "deepObject", "explode": true});
    let schema = json!({"type": "object", "required": ["amount"], "properties": {
        "amount": {"type": "integer"},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "string"}}}},
        "expand": {"type": "array", "items": {"type": "string"}},
        "description": {"type": "string"},
    }});
    let encoding = json!({"metadata": deep, "items": deep, "expand": deep});
    let content = json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let tool = tool("post", "/charges", json!({"requestBody": {"required": true, "content": content}}));
    let arguments = json!({"amount": 5, "metadata": {"order id": "7&8"}, "items": [{"price": "p"}], "expand": ["a", "b"],
        "description": ""});
    let request = request(&tool, arguments).unwrap();
    let decoded = percent_encoding::percent_decode_str(&body(&request)).decode_utf8().unwrap().into_owned();
    assert_eq!(decoded, "amount=5&metadata[order id]=7&8&items[0][price]=p&expand[0]=a&expand[1]=b&description=");
    assert!(body(&request).contains("7%268"));
    assert_eq!(header(&request, "content-type"), Some("application/x-www-form-urlencoded"));
}

#[test]
fn files_are_base64_in_arguments_and_bytes_in_requests() {
    let schema = json!({"type": "object", "required": ["file"], "properties": {
        "file": {"type": "string", "format": "binary"}, "caption": {"type": "string"},
    }});
    let form = tool("post", "/a", json!({"requestBody": {"required": true, "content": {"multipart/form-data": {"schema": schema}}}}));
    assert_eq!(input(&form)["properties"]["file"]["contentEncoding"], "base64");
    let sent = request(&form, json!({"file": "data:image/png;base64,iVBORw==", "caption": "hi"})).unwrap();
    let bytes = sent.body.unwrap();
    assert!(bytes.windows(8).any(|part| part == b"\r\n\r\n\x89PNG"));
    assert!(request(&form, json!({"file": "no base64"})).unwrap_err().contains("`file`"));
    let upload = json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}});
    let raw = tool("put", "/a", json!({"requestBody": {"required": true, "content": upload}}));
    let sent = request(&raw, json!({"body": "iVBORw=="})).unwrap();
    assert_eq!((sent.body.as_deref(), header(&sent, "content-type")), (Some(&b"\x89PNG"[..]), Some("application/octet-stream")));
}

#[test]
fn styles_of_parameters_are_kept() {
    let array = json!({"type": "array", "items": {"type": "string"}});
    let parameter = |name: &str, place: &str, style: &str, explode: bool| {
        json!({"name": name, "in": place, "style": style, "explode": explode, "schema": array})
    };
    let tool = tool("get", "/a{m}/{l}", json!({"parameters": [
        parameter("m", "path", "matrix", true),
        parameter("l", "path", "label", false),
        parameter("f", "query", "form", false),
        parameter("p", "query", "pipeDelimited", false),
        parameter("s", "query", "spaceDelimited", false),
        parameter("d", "query", "deepObject", true),
        parameter("w", "query", "nonsense", true),
        parameter("X-H", "header", "simple", false),
        parameter("c", "cookie", "form", true),
        {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "r", "in": "query", "allowReserved": true, "schema": {"type": "string"}},
    ]}));
    let two = json!(["1", "2"]);
    let arguments = json!({"m": two, "l": two, "f": two, "p": two, "s": two, "d": {"k": "v"}, "w": two, "X-H": two, "c": ["1"],
        "j": {"a": 1}, "r": "a/b?c&d=e"});
    let request = request(&tool, arguments).unwrap();
    assert_eq!(request.path, "/a;m=1;m=2/.1,2");
    let query = "f=1,2&p=1%7C2&s=1%202&d%5Bk%5D=v&w=1&w=2&j=%7B%22a%22%3A1%7D&r=a/b?c%26d%3De";
    assert_eq!(request.query, query);
    assert_eq!((header(&request, "x-h"), header(&request, "cookie")), (Some("1,2"), Some("c=1")));
}

#[test]
fn examples_and_data_have_no_keywords() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "object", "example": {"$id": "http://x", "$ref": "#/nowhere"}},
        "b": {"default": {"$ref": "#/nowhere"}, "enum": [{"$id": "y", "example": 1}]},
        "$ref": {"type": "string"},
        "$id": {"type": "string"},
        "example": {"type": "string"},
    }, "$id": "https://evil.example/schema", "$schema": "http://json-schema.org/draft-04/schema#"});
    let mut api = api(json!({"/a": {"post": json_body(schema)}}), json!({}));
    let schema = input(&api.tools.remove(0));
    assert_eq!(schema["properties"]["a"], json!({"type": "object"}));
    assert_eq!(schema["properties"]["b"], json!({"default": {"$ref": "#/nowhere"}, "enum": [{"$id": "y", "example": 1}]}));
    assert_eq!(schema["properties"]["$ref"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["example"], json!({"type": "string"}));
    assert_eq!(schema.get("$id"), None);
    assert_eq!(api.notes, [""; 0]);
}

#[test]
fn older_keywords_become_those_of_2020_12() {
    let parameter = |name: &str, schema: Value| json!({"name": name, "in": "query", "schema": schema});
    let tool = tool("get", "/a", json!({"parameters": [
        parameter("nullable", json!({"type": "string", "nullable": true, "enum": ["a"]})),
        parameter("composed", json!({"nullable": true, "allOf": [{"type": "string"}]})),
        parameter("above", json!({"type": "number", "minimum": 5, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false})),
        parameter("tuple", json!({"type": "array", "items": [{"type": "string"}]})),
        parameter("wrong", json!({"type": "strng", "pattern": "(?<", "minLength": -1, "required": true, "enum": [], "multipleOf": 0})),
    ]}));
    let properties = input(&tool)["properties"].clone();
    assert_eq!(properties["nullable"], json!({"type": ["string", "null"], "enum": ["a", null]}));
    assert_eq!(properties["composed"], json!({"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}));
    assert_eq!(properties["above"], json!({"type": "number", "exclusiveMinimum": 5, "maximum": 9}));
    assert_eq!(properties["tuple"], json!({"type": "array", "prefixItems": [{"type": "string"}]}));
    assert_eq!(properties["wrong"], json!({}));
}

#[test]
fn read_only_members_are_not_asked_for() {
    let schemas = json!({
        "Id": {"type": "integer", "readOnly": true},
        "Base": {"type": "object", "required": ["id", "made"], "properties": {
            "id": {"$ref": "#/components/schemas/Id"}, "made": {"type": "string", "readOnly": true}}},
        "Pet": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"required": ["id", "name"], "properties": {
            "name": {"type": "string"}, "secret": {"type": "string", "writeOnly": true},
            "owner": {"type": "object", "required": ["key", "name"], "properties": {"key": {"readOnly": true}, "name": {}}}}}]},
    });
    let pet = json!({"$ref": "#/components/schemas/Pet"});
    let mut operation = json_body(pet.clone());
    operation["responses"] = json!({"200": {"content": {"application/json": {"schema": pet}}}});
    let api = api(json!({"/a": {"post": operation}}), schemas);
    let schema = input(&api.tools[0]);
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["name", "secret", "owner"]);
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["properties"]["owner"]["required"], json!(["name"]));
    let output = definition(&api.tools[0])["outputSchema"].clone();
    assert!(accepts(&output, &json!({"id": 1, "made": "x", "name": "n"})));
    assert!(!accepts(&output, &json!({"made": "x", "name": "n"})), "`id` is required in responses");
    assert!(!output.to_string().contains("secret"));
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
    assert_eq!(found["_meta"]["extra"], json!({"method": "GET", "path": "/pets", "tags": ["pets"], "deprecated": true}));
    assert_eq!((&found["title"], &found["description"]), (&json!("Find"), &json!("Finds pets.")));
    assert_eq!(found["annotations"], json!({"readOnlyHint": true, "openWorldHint": true}));
    let hints = |method: &str| definition(&tool(method, "/pets", json!({})))["annotations"].clone();
    assert_eq!(hints("put"), json!({"idempotentHint": true, "openWorldHint": true}));
    assert_eq!(hints("delete"), json!({"destructiveHint": true, "idempotentHint": true, "openWorldHint": true}));
    assert_eq!(hints("post"), json!({"openWorldHint": true}));
    assert_eq!(hints("patch"), json!({"openWorldHint": true}));
}

#[test]
fn headers_of_http_and_of_the_config_are_no_arguments() {
    let names = ["Host", "Authorization", "Accept", "Content-Type", "X-Forwarded-For", "Cookie", "X-Api-Key", "X-Mine", "X-Ok"];
    let parameters: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "in": "header", "required": true, "schema": {}})).collect();
    let description = json!({
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"parameters": parameters}}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-api-key"}}},
    });
    let headers = ["x-mine".to_owned()];
    let api = Api::from_value(&description, Source { headers: &headers, ..SOURCE }).unwrap();
    assert_eq!(input(&api.tools[0])["required"], json!(["X-Ok"]));
    for value in ["a\r\nHost: evil", "ä", "\u{7f}"] {
        assert!(request(&api.tools[0], json!({"X-Ok": value})).unwrap_err().contains("printable ASCII"), "{value:?}");
    }
}

#[test]
fn empty_values_are_sent_and_missing_ones_are_not() {
    let parameters = json!([
        {"name": "q", "in": "query", "allowEmptyValue": true, "schema": {"type": "string"}},
        {"name": "n", "in": "query", "schema": {"type": "string"}},
        {"name": "l", "in": "query", "schema": {"type": "array"}},
    ]);
    let tool = tool("get", "/a", json!({ "parameters": parameters }));
    assert_eq!(request(&tool, json!({"q": "", "n": null, "l": []})).unwrap().query, "q=");
    assert_eq!(request(&tool, json!({})).unwrap().query, "");
    let error = request(&tool, json!({"typo": 1})).unwrap_err();
    assert_eq!(error, "unknown argument `typo`; the arguments of this tool are `q`, `n`, `l`");
}

#[test]
fn requests_stay_below_the_url_of_the_config() {
    let paths = json!({"/a/{b}": {"get": {}, "servers": [{"url": "https://evil.example"}]}, "//evil.example/x": {"get": {}},
        "/../x": {"get": {}}, "x": {"get": {}}});
    let api = api(paths, json!({}));
    assert_eq!(api.tools.len(), 1);
    assert_eq!(api.notes.len(), 4, "{:?}", api.notes);
    let base = Url::parse("https://api.example:8443/v1/?key=secret#x").unwrap();
    let url = |value: &str| request(&api.tools[0], json!({"b": value})).map(|request| String::from(request.url(&base)));
    assert_eq!(url("c d").unwrap(), "https://api.example:8443/v1/a/c%20d?key=secret");
    assert_eq!(url("http://evil.example/").unwrap(), "https://api.example:8443/v1/a/http%3A%2F%2Fevil.example%2F?key=secret");
    assert_eq!(url("%2e%2e").unwrap(), "https://api.example:8443/v1/a/%252e%252e?key=secret");
    assert_eq!(url("@evil.example").unwrap(), "https://api.example:8443/v1/a/%40evil.example?key=secret");
    for value in ["..", "../..", "..\\..", "a/../b", "."] {
        assert!(url(value).is_err(), "{value}");
    }
}

#[test]
fn a_path_variable_that_is_not_described_is_an_argument() {
    let unused = json!([{"name": "old", "in": "path", "required": true, "schema": {"type": "string"}}]);
    let tool = tool("get", "/a/{id}?action=run#x", json!({ "parameters": unused }));
    assert_eq!(input(&tool)["required"], json!(["id"]));
    let request = request(&tool, json!({"id": 7})).unwrap();
    assert_eq!((request.method, request.path.as_str(), request.query.as_str()), (Method::GET, "/a/7", "action=run"));
}

#[test]
fn the_first_media_type_that_we_write_is_used() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let content = json!({"application/xml": {"schema": schema}, "application/x-www-form-urlencoded": {"schema": schema},
        "application/json": {"schema": schema}});
    let form = tool("post", "/a", json!({"requestBody": {"content": content}}));
    assert_eq!(body(&request(&form, json!({"a": "1"})).unwrap()), "a=1");
    assert_eq!(request(&form, json!({})).unwrap().body, None, "the body may be left out");
    let xml = tool("post", "/a", json!({"requestBody": {"content": {"application/xml": {"schema": schema}}}}));
    assert_eq!(body(&request(&xml, json!({"body": "<a/>"})).unwrap()), "<a/>");
    let injected = json!({"text/x\r\nX-Evil: 1": {"schema": {"type": "string"}}});
    let injected = tool("post", "/a", json!({"requestBody": {"content": injected}}));
    assert_eq!(header(&request(&injected, json!({"body": "x"})).unwrap(), "content-type"), Some("application/octet-stream"));
}

#[test]
fn unnamed_arguments_go_where_the_body_is_open() {
    let schema = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}});
    let open = tool("post", "/a", json_body(schema));
    assert_eq!(input(&open)["additionalProperties"], json!({"type": "integer"}));
    assert_eq!(body(&request(&open, json!({"a": 1, "b": 2})).unwrap()), r#"{"a":1,"b":2}"#);
    let closed = tool("post", "/a", json_body(json!({"type": "object", "properties": {"a": {}}})));
    assert!(request(&closed, json!({"a": 1, "b": 2})).is_err());
    assert!(closed.request(RawRef::ZERO).is_err());
}

#[test]
fn large_schemas_are_cut_from_the_deepest_level() {
    let text = "x".repeat(1000);
    let mut schemas = serde_json::Map::new();
    for level in 0..200 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        schemas.insert(format!("L{level}"), json!({"type": "object", "description": text, "properties": {"next": next}}));
    }
    schemas.insert("L200".to_owned(), json!({"type": "string"}));
    let list = json!({"type": "array", "items": {"$ref": "#/components/schemas/L0"}});
    let api = api(json!({"/a": {"post": json_body(list)}}), schemas.into());
    let found = definition(&api.tools[0]);
    let schema = input(&api.tools[0]);
    assert!(schema.to_string().len() <= 64 << 10, "{}", schema.to_string().len());
    assert_eq!(found["_meta"]["extra"]["lossy"], true);
    let names: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
    let last = names.last().unwrap().as_str();
    assert!(names.len() > 50, "{}", names.len());
    assert_eq!(schema["$defs"][last].get("properties"), None, "the deepest allows anything");
    assert!(schema["$defs"][last]["description"].as_str().unwrap().starts_with("xxx"));
    assert!(accepts(&schema, &json!({"body": [{"next": {"next": {}}}]})));
}

#[test]
fn a_large_schema_without_references_is_cut_too() {
    let mut schema = json!({"type": "string", "description": "x".repeat(100)});
    for _ in 0..4 {
        let members: serde_json::Map<String, Value> = (0..10).map(|name| (format!("m{name}"), schema.clone())).collect();
        schema = json!({"type": "object", "properties": members});
    }
    let found = tool("post", "/a", json_body(schema));
    let schema = input(&found);
    assert!(schema.to_string().len() <= 64 << 10, "{}", schema.to_string().len());
    assert_eq!(schema["properties"].as_object().unwrap().len(), 10);
    assert_eq!(definition(&found)["_meta"]["extra"]["lossy"], true);
}

#[test]
fn an_output_schema_is_there_when_all_successes_have_it() {
    let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let json = |schema: &Value| json!({"content": {"application/json": {"schema": schema}}});
    let of = |responses: Value| definition(&tool("get", "/a", json!({ "responses": responses }))).get("outputSchema").cloned();
    let schema = of(json!({"200": json(&object), "404": json(&json!({"type": "array"}))})).unwrap();
    assert!(accepts(&schema, &json!({"a": 1})) && !accepts(&schema, &json!({})));
    let list = of(json!({"200": json(&json!({"type": "array", "items": object}))})).unwrap();
    assert!(accepts(&list, &json!({"result": [{"a": 1}]})) && !accepts(&list, &json!({"result": [{}]})));
    assert_eq!(of(json!({"200": json(&object), "204": {}})), None, "sometimes there is no content");
    assert_eq!(of(json!({"200": {"content": {"application/json": {"schema": object}, "text/csv": {}}}})), None);
    assert_eq!(of(json!({"200": json(&json!({"description": "x".repeat(2000), "type": "object", "properties":
        (0..20).map(|n| (format!("p{n}"), json!({"description": "y".repeat(1000)}))).collect::<serde_json::Map<_, _>>()}))})), None);
}

#[test]
fn a_response_that_is_not_as_described_is_noticed() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let responses = json!({"200": {"content": {"application/json": {"schema": schema}}}});
    let tool = tool("get", "/a", json!({ "responses": responses }));
    let mismatch = |body: &'static str| {
        tool.output_mismatch(&crate::ApiResponse {
            status: 200,
            content_type: "application/json",
            body: body.as_bytes(),
            ..crate::ApiResponse::default()
        })
    };
    assert_eq!(mismatch("{\"a\":1}"), None);
    assert!(mismatch("{\"a\":\"1\"}").is_some());
    assert_eq!(mismatch("<html>").unwrap(), "the response is not JSON");
    let without = tool.definition_without_output_schema();
    assert!(!without.get().contains("outputSchema") && without.get().contains("inputSchema"));
}

#[test]
fn versions_are_told_apart() {
    let version = |description: Value| Api::from_value(&description, SOURCE).map(|api| api.notes);
    assert!(matches!(version(json!({"swagger": "2.0"})), Err(DescriptionError::Swagger)));
    assert!(DescriptionError::Swagger.to_string().contains("swagger2openapi"));
    assert!(matches!(version(json!({"paths": {}})), Err(DescriptionError::NotOpenApi)));
    assert!(matches!(version(json!([])), Err(DescriptionError::NotOpenApi)));
    assert!(matches!(version(json!({"openapi": "4.0.0"})), Err(DescriptionError::Version(_))));
    assert_eq!(version(json!({"openapi": "3.2.0"})).unwrap(), ["OpenAPI 3.2.0 is read as 3.1; what is new in it is ignored"]);
    assert_eq!(version(json!({"openapi": 3.1})).unwrap(), [""; 0], "YAML without quotes");
    assert!(matches!(Api::from_json("{", SOURCE), Err(DescriptionError::Unreadable(_))));
}
