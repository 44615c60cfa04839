//! Schemas of arguments and results.

use std::time::{Duration, Instant};

use super::*;

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
    let whole =
        |name: &str| json_body(json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}}));
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
    assert_eq!(
        schema["properties"]["b"],
        json!({"default": {"$ref": "#/nowhere"}, "enum": [{"$id": "y", "example": 1}]})
    );
    assert_eq!(schema["properties"]["ref"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["id"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["example"], json!({"type": "string"}));
    assert_eq!(schema.get("$id"), None);
    assert_eq!(api.notes, [""; 0]);
}

#[test]
fn older_keywords_become_those_of_2020_12() {
    let parameter = |name: &str, schema: Value| json!({"name": name, "in": "query", "schema": schema});
    let tool = tool(
        "get",
        "/a",
        json!({"parameters": [
            parameter("nullable", json!({"type": "string", "nullable": true, "enum": ["a"]})),
            parameter("composed", json!({"nullable": true, "allOf": [{"type": "string"}]})),
            parameter("above", json!({"type": "number", "minimum": 5, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false})),
            parameter("tuple", json!({"type": "array", "items": [{"type": "string"}]})),
            parameter("wrong", json!({"type": "strng", "pattern": "(?<", "minLength": -1, "required": true, "enum": [], "multipleOf": 0})),
        ]}),
    );
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
fn large_schemas_are_cut_from_the_deepest_level() {
    let text = "x".repeat(1000);
    let mut schemas = serde_json::Map::new();
    for level in 0..200 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        schemas
            .insert(format!("L{level}"), json!({"type": "object", "description": text, "properties": {"next": next}}));
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
        let members: serde_json::Map<String, Value> =
            (0..10).map(|name| (format!("m{name}"), schema.clone())).collect();
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
    let of = |responses: Value| {
        definition(&tool("get", "/a", json!({ "responses": responses }))).get("outputSchema").cloned()
    };
    let schema = of(json!({"200": json(&object), "404": json(&json!({"type": "array"}))})).unwrap();
    assert!(accepts(&schema, &json!({"a": 1})) && !accepts(&schema, &json!({})));
    let list = of(json!({"200": json(&json!({"type": "array", "items": object}))})).unwrap();
    assert!(accepts(&list, &json!({"result": [{"a": 1}]})) && !accepts(&list, &json!({"result": [{}]})));
    assert_eq!(of(json!({"200": json(&object), "204": {}})), None, "sometimes there is no content");
    assert_eq!(of(json!({"200": {"content": {"application/json": {"schema": object}, "text/csv": {}}}})), None);
    assert_eq!(
        of(json!({"200": json(&json!({"description": "x".repeat(2000), "type": "object", "properties":
        (0..20).map(|n| (format!("p{n}"), json!({"description": "y".repeat(1000)}))).collect::<serde_json::Map<_, _>>()}))})),
        None
    );
}

#[test]
fn members_beside_a_reference_count_only_since_version_3_1() {
    let body = json!({"$ref": "#/components/schemas/A", "properties": {"b": {"type": "string"}}, "required": ["b"]});
    let description = |version: &str| {
        json!({"openapi": version, "paths": {"/a": {"post": json_body(body.clone())}},
            "components": {"schemas": {"A": {"type": "object", "properties": {"a": {"type": "string"}}}}}})
    };
    let names = |version: &str| {
        let schema = input(&read(&description(version)).tools[0]);
        schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names("3.0.3"), ["a"]);
    assert_eq!(names("3.1.0"), ["a", "b"]);
}

#[test]
fn patterns_of_other_languages_use_up_no_limit() {
    let pattern = |text: String| json!({"type": "string", "pattern": text});
    let mut members: serde_json::Map<String, Value> =
        (0..2500).map(|number| (format!("a{number}"), pattern(format!("(?>a{number})b")))).collect();
    members.insert("last".to_owned(), pattern("^[a-z]{1,63}$".to_owned()));
    let body = json_body(json!({"type": "object", "properties": members}));
    let api = api(json!({"/a": {"post": body}}), json!({}));
    assert!(!api.notes.iter().any(|note| note.contains("patterns")), "{:?}", api.notes);
    let tools = &api.tools[0];
    assert!(tools.definition.get().contains(r#""pattern":"^[a-z]{1,63}$""#));
    assert!(!tools.definition.get().contains("(?>"));
}

#[test]
fn patterns_that_have_to_be_translated_take_little_time() {
    let honest = json!({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"});
    let start = Instant::now();
    for (part, count) in [(r"\d", 2040), (r"\ca", 1360), (r"(?:\w)", 580), (r"\s{9}", 160)] {
        let pattern = |number: usize| json!({"type": "string", "pattern": format!("{}{number}", part.repeat(count))});
        let mut members: serde_json::Map<String, Value> =
            (1000..1200).map(|number| (format!("a{number}"), pattern(number))).collect();
        members.insert("a".to_owned(), honest.clone());
        let body = json_body(json!({"type": "object", "properties": members}));
        let api = api(json!({"/a": {"post": body}}), json!({}));
        // Those of moderate size use up what all of them may cost.
        let is_left = count == 160 || input(&api.tools[0])["properties"]["a"] == honest;
        assert!(is_left, "{part}");
        assert!(api.notes.iter().any(|note| note.contains("too large patterns")), "{part}: {:?}", api.notes);
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
