//! What holds for every schema and every list of tools.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{Dialect, DialectTool, Dialects, Limits, NamePattern, RowNames, Step, VersionBounds, lower};
use proxy_json::{Object, Schema};
use proxy_model::{Definition, ItemKind};

fn definition(value: &Value) -> Definition {
    Definition::parse(ItemKind::Tool, proxy_json::raw(value)).unwrap()
}

fn tool(definition: &Definition) -> DialectTool<'_> {
    DialectTool { definition, server: "s", original: definition.key(), without_list: None }
}

/// A row with all steps.
fn strict(name_length: usize) -> Dialects {
    let limits = Limits {
        prefix: "mcp__{server}__".to_owned(),
        name_length: Some(name_length),
        schema: Step::OF_SCHEMAS.map(|(_, step)| step).to_vec(),
        ..Limits::default()
    };
    let patterns = vec![NamePattern::parse("strict").unwrap()];
    Dialects::new(vec![("strict".to_owned(), patterns, VersionBounds::default(), limits)], "proxy")
}

fn row<'a>(dialects: &'a Dialects, name: &str) -> &'a Dialect {
    dialects.named(name).unwrap()
}

fn schema_of(lowered: &crate::Lowered, published: &Definition) -> Value {
    match lowered.text() {
        Some(text) => serde_json::from_str::<Value>(text.get()).unwrap()["inputSchema"].clone(),
        None => published.member("inputSchema").unwrap(),
    }
}

/// Schemas of the kinds that servers publish, with all keywords that a step knows.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": ["string", "null"], "minLength": 2})),
        Just(json!({"type": ["integer", "string"], "minimum": 3, "maxLength": 1})),
        Just(json!({"const": "a"})),
        Just(json!({"const": 1})),
        Just(json!({"enum": ["a", "b"]})),
        Just(json!({"enum": ["a", null]})),
        Just(json!({"enum": [1, 2, "a"]})),
        Just(json!({"type": "array"})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"$ref": "#/$defs/d", "minLength": 2, "required": ["p"]})),
        Just(json!({"$ref": "#/$defs/none"})),
        Just(json!({"$ref": "#"})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        Just(json!({"not": {"type": "string"}})),
        Just(json!({"type": "string", "format": "date"})),
        Just(json!({"type": "integer", "exclusiveMinimum": 3})),
        Just(json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 3})),
        Just(json!({"type": "number", "exclusiveMaximum": 3.5})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let map = proptest::collection::vec((any_name(), inner.clone()), 0..3)
            .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
            .boxed();
        let list = proptest::collection::vec(inner.clone(), 1..3).boxed();
        prop_oneof![
            map.clone().prop_map(|properties| json!({"type": "object", "properties": properties})),
            (map.clone(), any_name()).prop_map(|(properties, name)| json!({
                "type": "object", "properties": properties, "required": [name], "additionalProperties": false,
            })),
            map.clone().prop_map(
                |properties| json!({"properties": properties, "patternProperties": {"^a": {"type": "integer"}}})
            ),
            list.clone().prop_map(|schemas| json!({"anyOf": schemas})),
            list.clone().prop_map(|schemas| json!({"oneOf": schemas})),
            list.clone().prop_map(|schemas| json!({"allOf": schemas})),
            list.clone().prop_map(|schemas| json!({"type": "array", "prefixItems": schemas, "items": false})),
            list.prop_map(|schemas| json!({"type": "array", "prefixItems": schemas})),
            inner.clone().prop_map(|schema| json!({"type": "array", "items": schema, "minItems": 1})),
            inner.clone().prop_map(|schema| json!({"if": schema, "then": {"type": "string"}})),
            inner.prop_map(|schema| json!({"propertyNames": {"maxLength": 1}, "additionalProperties": schema})),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> + Clone {
    prop_oneof![Just("a"), Just("b"), Just("p"), Just("$x"), Just("a b")].prop_map(str::to_owned)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("a")),
        Just(json!("abc")),
        Just(json!(1)),
        Just(json!(4)),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!("")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::vec((any_name(), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_root() -> impl Strategy<Value = Value> {
    (any_schema(), any_schema(), any_schema()).prop_map(|(first, second, definition)| {
        let mut root = json!({"type": "object", "$defs": {"d": definition}});
        let properties = json!({"a": first.clone(), "$x": second.clone()});
        match first {
            // Half of the roots are unions.
            Value::Object(_) if first.get("type").is_none_or(|name| name == "object") => {
                root["anyOf"] = json!([first, second]);
            }
            _ => root["properties"] = properties,
        }
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_only_the_lowered_schema_allows_is_told_and_checked(
        root in any_root(),
        members in proptest::collection::vec((any_name(), any_value()), 0..4),
    ) {
        let published = definition(&json!({"name": "t", "inputSchema": root}));
        let dialects = strict(64);
        let lowered = lower(row(&dialects, "strict"), &tool(&published));
        // A schema that nobody can use says nothing.
        let Ok(original) = Schema::compile(&root) else { return Ok(()) };
        let schema = schema_of(&lowered, &published);
        let compiled = Schema::compile(&schema);
        prop_assert!(compiled.is_ok(), "{schema}: {:?}", compiled.err());
        let sent = Value::Object(members.into_iter().collect());
        if compiled.unwrap().check(&sent).is_err() {
            return Ok(());
        }
        let arguments = proxy_json::raw(&sent);
        let Ok(renamed) = lowered.published_arguments(&arguments) else { return Ok(()) };
        let received: Value = serde_json::from_str(renamed.as_ref().unwrap_or(&arguments).get()).unwrap();
        if original.check(&received).is_err() {
            prop_assert!(lowered.takes_constraint, "{root}\n became\n{schema}\n and allows {sent}");
        }
        if lowered.changes.iter().any(|change| change.takes_constraint) {
            let text = lowered.text().unwrap().get();
            let description = Object::parse(text).unwrap().string("description").unwrap_or_default();
            prop_assert!(!description.is_empty() || schema.to_string().contains("\"description\""), "{text}");
        }
    }

    #[test]
    fn a_lowered_schema_has_nothing_that_the_row_refuses(root in any_root()) {
        let published = definition(&json!({"name": "t", "inputSchema": root}));
        let dialects = Dialects::built_in();
        let lowered = lower(row(&dialects, "gemini-cli"), &tool(&published));
        let faults = refused_by_gemini(&schema_of(&lowered, &published));
        prop_assert!(faults.is_empty(), "{faults:?}: {root}");
        let lowered = lower(row(&dialects, "claude-code"), &tool(&published));
        let schema = schema_of(&lowered, &published);
        for union in ["anyOf", "oneOf", "allOf"] {
            prop_assert!(schema.get(union).is_none(), "{schema}");
        }
        for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)), "{name}");
        }
    }

    #[test]
    fn no_two_tools_of_a_row_share_a_name(
        names in proptest::collection::hash_set("[ab]{1,3}|long_name_of_[ab]{30,34}|näme_[ab]{40}", 1..12),
        servers in proptest::collection::vec("[xy]", 12),
        length in 24usize..64,
    ) {
        let mut names: Vec<String> = names.into_iter().collect();
        let dialects = strict(length);
        let row = row(&dialects, "strict");
        // A tool may have the very name that another is shortened to.
        let first = definition(&json!({"name": names[0], "inputSchema": {}}));
        let short = lower(row, &DialectTool { server: &servers[0], ..tool(&first) }).short_name;
        names.extend(short);
        let definitions: Vec<Definition> =
            names.iter().map(|name| definition(&json!({"name": name, "inputSchema": {}}))).collect();
        let tools: Vec<DialectTool<'_>> = definitions
            .iter()
            .enumerate()
            .map(|(index, definition)| DialectTool { server: servers.get(index).map_or("", |it| it), ..tool(definition) })
            .collect();
        let published: HashSet<&str> = names.iter().map(String::as_str).collect();
        let row_names = RowNames::of(row, tools.iter().copied(), |name| published.contains(name));
        let mut seen: HashMap<String, &str> = HashMap::new();
        for tool in &tools {
            let key = tool.definition.key();
            if row_names.left_out(key).is_some() {
                continue;
            }
            let listed = lower(row, tool).short_name.unwrap_or_else(|| key.to_owned());
            prop_assert!(listed.len() <= length.saturating_sub("mcp__proxy__".len()).max(10), "{listed}");
            let back = if published.contains(listed.as_str()) { Some(listed.as_str()) } else { row_names.published(&listed) };
            prop_assert_eq!(back, Some(key));
            prop_assert!(seen.insert(listed.clone(), key).is_none(), "{}", listed);
        }
    }
}

/// What Gemini refuses, as `dialects/clients.toml` says.
fn refused_by_gemini(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    collect_faults(schema, "", &mut faults);
    for union in ["anyOf", "oneOf", "allOf"] {
        if schema.get(union).is_some() {
            faults.push(format!("root {union}"));
        }
    }
    faults
}

fn collect_faults(schema: &Value, at: &str, faults: &mut Vec<String>) {
    let Value::Object(members) = schema else {
        if !at.ends_with("additionalProperties") {
            faults.push(format!("{at}: {schema}"));
        }
        return;
    };
    for keyword in members.keys() {
        let refused = [
            "$ref",
            "$defs",
            "const",
            "$schema",
            "$id",
            "patternProperties",
            "propertyNames",
            "if",
            "then",
            "else",
            "not",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedItems",
            "unevaluatedProperties",
        ];
        if refused.contains(&keyword.as_str()) {
            faults.push(format!("{at}/{keyword}"));
        }
    }
    match members.get("type") {
        Some(Value::String(name)) if name == "array" && !members.get("items").is_some_and(Value::is_object) => {
            faults.push(format!("{at}: no items"));
        }
        Some(Value::String(name)) if name == "object" && !members.contains_key("properties") => {
            faults.push(format!("{at}: no properties"));
        }
        Some(Value::Array(_)) => faults.push(format!("{at}: types")),
        _ => {}
    }
    if let Some(Value::Array(values)) = members.get("enum")
        && (values.is_empty() || !values.iter().all(Value::is_string))
    {
        faults.push(format!("{at}: enum"));
    }
    for (keyword, value) in members {
        let at = format!("{at}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties", Value::Object(schemas)) => {
                schemas.iter().for_each(|(name, schema)| collect_faults(schema, &format!("{at}/{name}"), faults));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().for_each(|schema| collect_faults(schema, &at, faults));
            }
            ("items" | "additionalProperties" | "contains", schema) => collect_faults(schema, &at, faults),
            _ => {}
        }
    }
}

#[test]
fn a_tool_that_a_client_accepts_keeps_every_byte() {
    let text = r#"{ "name":"t", "x":1.10, "inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":1e2}}} }"#;
    let published = Definition::parse(ItemKind::Tool, proxy_json::valid(text.to_owned()).unwrap()).unwrap();
    let dialects = Dialects::built_in();
    for dialect in dialects.rows() {
        let lowered = lower(dialect, &tool(&published));
        assert!(!lowered.is_changed() && lowered.changes.is_empty(), "{}: {:?}", dialect.row, lowered.changes);
    }
}

#[test]
fn what_a_step_does_not_touch_keeps_its_numbers() {
    let published = definition(&json!({"name": "t", "inputSchema": {"type": "object"}, "x-vendor": [1]}));
    let with_numbers = published.raw().get().replace("[1]", "[1.10,9223372036854775808]");
    let published = Definition::parse(ItemKind::Tool, proxy_json::valid(with_numbers).unwrap()).unwrap();
    let dialects = Dialects::built_in();
    let lowered = lower(row(&dialects, "codex"), &tool(&published));
    let text = lowered.text().unwrap().get();
    assert!(text.contains("[1.10,9223372036854775808]") && text.contains(r#""properties":{}"#), "{text}");
    assert!(!lowered.takes_constraint);
}

#[test]
fn renamed_properties_find_their_way_back() {
    let schema = json!({
        "type": "object", "required": ["$.xgafv"],
        "properties": {"$.xgafv": {"type": "string"}, "copy": {"$ref": "#/properties/%24.xgafv"}, "": {}},
    });
    let published = definition(&json!({"name": "t", "inputSchema": schema}));
    let dialects = Dialects::built_in();
    let lowered = lower(row(&dialects, "claude-code"), &tool(&published));
    let schema = schema_of(&lowered, &published);
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let short = names[0];
    assert!(short.starts_with("__xgafv_") && short.len() == "__xgafv_".len() + 8, "{short}");
    assert_eq!(schema["required"], json!([short]));
    assert_eq!(schema["properties"]["copy"]["$ref"], json!(format!("#/properties/{short}")));
    let sent = proxy_json::raw(&json!({short: "1", "copy": "2"}));
    let received = lowered.published_arguments(&sent).unwrap().unwrap();
    assert_eq!(received.get(), r#"{"$.xgafv":"1","copy":"2"}"#);
    let whole = proxy_json::raw(&json!({"$.xgafv": "1"}));
    assert_eq!(lowered.published_arguments(&whole), Ok(None));
    let both = proxy_json::raw(&json!({"$.xgafv": "1", short: "2"}));
    assert!(lowered.published_arguments(&both).unwrap_err().contains("$.xgafv"));
}

#[test]
fn a_tool_whose_properties_fall_together_is_left_out() {
    let first = definition(&json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a b": {}}}}));
    let dialects = Dialects::built_in();
    let lowered = lower(row(&dialects, "claude-code"), &tool(&first));
    let schema = schema_of(&lowered, &first);
    let short = schema["properties"].as_object().unwrap().keys().next().unwrap().clone();
    let second = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a b": {}, short.as_str(): {}}}});
    let second = definition(&second);
    let lowered = lower(row(&dialects, "claude-code"), &tool(&second));
    assert!(lowered.conflict.unwrap().contains(&short));
}

#[test]
fn hostile_schemas_end_soon() {
    let alternatives = |count: usize| {
        let branch = |n: usize| json!({"type": "object", "properties": {format!("p{}", n % 500): {"const": n}}});
        json!({"type": "object", "anyOf": (0..count).map(branch).collect::<Vec<_>>()})
    };
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"anyOf": [deep]});
    }
    let dialects = strict(64);
    for schema in [
        alternatives(150_000),
        alternatives(10_000),
        json!({"type": "object", "properties": {"v": deep}}),
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "$ref": "file:///etc/passwd"}),
        json!({"type": "object", "allOf": [{"$ref": "#/allOf/0"}]}),
        json!({"type": "object", "properties": "none", "required": 5, "anyOf": {}, "$defs": []}),
    ] {
        let published = definition(&json!({"name": "t", "inputSchema": schema}));
        let began = std::time::Instant::now();
        for dialect in dialects.rows() {
            lower(dialect, &tool(&published));
        }
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}

/// Tools of which a careless step would make gigabytes.
#[test]
fn a_small_schema_never_becomes_a_huge_one() {
    let repeated_types =
        (0..60).fold(json!({}), |inner, _| json!({"type": ["object", "string", "object"], "properties": {"a": inner}}));
    let references = |to: &str| vec![json!({"$ref": to}); 25_000];
    let shared = json!({
        "type": "object",
        "properties": {"a": {"anyOf": references("#/$defs/b")}},
        "$defs": {"b": {"anyOf": references("#/$defs/e")}, "e": {}},
    });
    let own_root = json!({"anyOf": vec![json!({"$ref": "#"}); 1000], "properties": {"a": {}}});
    let branch = |number: usize| json!({"properties": {format!("p{number}"): {}}, "required": [format!("p{number}")]});
    let many = json!({"anyOf": (0..5000).map(branch).collect::<Vec<_>>()});
    let dialects = Dialects::built_in();
    for (what, root) in [("types", repeated_types), ("references", shared), ("root", own_root), ("branches", many)] {
        let schema = root.to_string();
        let published = definition(&json!({"name": "t", "inputSchema": root}));
        for dialect in dialects.rows() {
            let lowered = lower(dialect, &tool(&published));
            let size = lowered.text().map_or(0, |text| text.get().len());
            assert!(size <= 4 * schema.len() + (1 << 20), "{what} for {}: {} became {size}", dialect.row, schema.len());
        }
    }
}
