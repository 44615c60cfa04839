use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proxy_json::Schema;
use serde_json::{Map, Value, json};

use super::damage::damaged_text;
use super::fuzz;

/// The schemas that refer to each other.
const SCHEMAS: usize = 12;
/// A check has one second; compiling and a slow machine may take a few more.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A keyword with a schema below it, for the same value or for a part of it.
const KEYWORDS: [&str; 12] = [
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "if",
    "properties",
    "items",
    "prefixItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "unevaluatedProperties",
];

/// Where a reference leads: by pointer, by anchor, by the `$id` of a resource, or to the root.
#[derive(Clone, Copy, Debug)]
enum Way {
    Pointer,
    Anchor,
    Resource,
    Root,
}

#[derive(Clone, Debug)]
struct Rule {
    keyword: &'static str,
    targets: Vec<(usize, Way)>,
}

fn rules() -> impl Strategy<Value = Vec<Vec<Rule>>> {
    let ways = [Way::Pointer, Way::Pointer, Way::Pointer, Way::Anchor, Way::Resource, Way::Root];
    let rule = (select(&KEYWORDS[..]), vec((0..SCHEMAS, select(ways.to_vec())), 1..4))
        .prop_map(|(keyword, targets)| Rule { keyword, targets });
    vec(vec(rule, 0..3), SCHEMAS)
}

/// Whether a schema is a resource with an `$id` of its own.
fn is_resource(index: usize) -> bool {
    index % 6 == 5
}

fn reference(from: usize, (target, way): (usize, Way)) -> Value {
    let text = match way {
        Way::Resource => format!("http://x.test/s{}", target / 6 * 6 + 5),
        // In a resource, these would lead nowhere.
        _ if is_resource(from) => format!("http://x.test/root#/$defs/s{target}"),
        Way::Anchor if !is_resource(target) => format!("#a{target}"),
        Way::Root => "#".to_owned(),
        Way::Pointer | Way::Anchor => format!("#/$defs/s{target}"),
    };
    json!({ "$ref": text })
}

fn schema(rules: &[Vec<Rule>]) -> Value {
    let mut schemas = Map::new();
    for (index, rules) in rules.iter().enumerate() {
        let mut members = Map::new();
        members.insert("$anchor".to_owned(), format!("a{index}").into());
        if is_resource(index) {
            members.insert("$id".to_owned(), format!("http://x.test/s{index}").into());
        }
        if index % 3 == 0 {
            members.insert("type".to_owned(), json!(["object", "array", "string", "integer"][index % 4]));
        }
        for rule in rules {
            let targets: Vec<Value> = rule.targets.iter().map(|target| reference(index, *target)).collect();
            let value = match rule.keyword {
                "anyOf" | "allOf" | "oneOf" | "prefixItems" => Value::Array(targets),
                "properties" => json!({"a": targets[0], "b": targets.last()}),
                _ => targets[0].clone(),
            };
            members.insert(rule.keyword.to_owned(), value);
        }
        schemas.insert(format!("s{index}"), members.into());
    }
    json!({"$id": "http://x.test/root", "$ref": "#/$defs/s1", "$defs": schemas})
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-2..5).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-c]", inner), 0..4).prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Compiles and checks; both end in time, and a verdict is that of the library. Whether the schema was accepted.
fn check(schema: &Value, value: &Value) -> Result<bool, TestCaseError> {
    let started = Instant::now();
    let compiled = match Schema::compile(schema) {
        Ok(compiled) => compiled,
        Err(_) => {
            prop_assert!(started.elapsed() < MAX_TIME, "compiling took {:?}: {}", started.elapsed(), schema);
            return Ok(false);
        }
    };
    let checked = compiled.check(value).map_err(|mismatch| mismatch.to_string());
    prop_assert!(started.elapsed() < MAX_TIME, "it took {:?}: {} {}", started.elapsed(), schema, value);
    let is_undecided = checked.as_ref().is_err_and(|reason| reason.contains("simpler schema"));
    if !is_undecided {
        let library = jsonschema::validator_for(schema).expect("it was compiled");
        prop_assert_eq!(checked.is_ok(), library.is_valid(value), "{} {} {:?}", schema, value, checked);
    }
    Ok(true)
}

#[test]
fn schemas_that_refer_to_each_other_are_checked_in_time() {
    let (all, accepted) = (Cell::new(0), Cell::new(0));
    fuzz(&(rules(), value()), |(rules, value)| {
        all.set(all.get() + 1);
        accepted.set(accepted.get() + u32::from(check(&schema(&rules), &value)?));
        Ok(())
    });
    assert!(accepted.get() > all.get() / 4, "{} of {}: most schemas are not checked at all", accepted.get(), all.get());
}

#[test]
fn damaged_schemas_are_refused_or_checked_in_time() {
    let input = (damaged_text(include_str!("../corpus/fuzz/schemas.txt")), value());
    fuzz(&input, |(text, value)| match serde_json::from_str(&text) {
        Ok(schema) if !proxy_json::too_deep(text.as_bytes()) => check(&schema, &value).map(drop),
        _ => Ok(()),
    });
}
