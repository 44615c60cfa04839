//! Checks values against a JSON Schema, with an error that names the field. Schemas and values are written by others, so
//! what a check may cost is bounded: by the size of the schema before it is compiled ([`expansion`]), and by time, memory
//! and stack while it runs ([`meter`]).

mod expansion;
mod meter;
mod node;
mod pattern;
mod references;

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use expansion::MAX_EXPANDED;
use meter::{CheckMeter, Excess};
use node::{Metered, MeteredNode};
use pattern::{BACKTRACK_LIMIT, Pattern, PatternKeyword};
pub use pattern::{PatternState, pattern_state, translation_cost};
use references::SchemaGraph;

/// The values of the keyword `type`.
const TYPES: &str = "array, boolean, integer, null, number, object, string";
/// The memory of all compiled patterns of a schema, in bytes, and of one of them.
const PATTERN_MEMORY: usize = 64 << 20;
const MAX_PATTERN_MEMORY: usize = 10 << 20;
/// The length of a message about a mismatch, in bytes.
const MAX_MESSAGE: usize = 1000;
/// The message where the schema has so many alternatives that none of their mismatches says more.
const MISMATCH: &str = "the value does not match any of the alternatives that the schema allows";

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} schema{}: {reason}", if self.is_too_large { "too large a" } else { "invalid" }, self.at())]
pub struct InvalidSchema {
    /// The JSON pointer to the faulty part; empty if it is the schema itself.
    pub place: String,
    pub reason: String,
    is_too_large: bool,
}

impl InvalidSchema {
    /// The rest of a sentence about the schema: `` is not a valid JSON Schema at `/properties/n/type`: ... ``
    pub fn problem(&self) -> String {
        let verdict = if self.is_too_large { "is too large to be used" } else { "is not a valid JSON Schema" };
        format!("{verdict}{}: {}", self.at(), self.reason)
    }

    fn at(&self) -> String {
        if self.place.is_empty() { String::new() } else { format!(" at `{}`", self.place) }
    }

    fn too_large(reason: String) -> Self {
        InvalidSchema { place: String::new(), reason, is_too_large: true }
    }
}

impl From<jsonschema::ValidationError<'_>> for InvalidSchema {
    fn from(error: jsonschema::ValidationError<'_>) -> Self {
        let place = error.instance_path().to_string();
        let reason = match error.instance().as_ref() {
            // The schema of schemas says only that none of its alternatives matches.
            Value::String(kind) if place.ends_with("/type") => format!("`{kind}` is not a type; the types are {TYPES}"),
            Value::String(pattern) if place.ends_with("/pattern") => {
                format!("`{pattern}` is not a valid regular expression")
            }
            _ => error.to_string(),
        };
        InvalidSchema { place, reason, is_too_large: false }
    }
}

impl From<jsonschema::ReferencingError> for InvalidSchema {
    fn from(error: jsonschema::ReferencingError) -> Self {
        InvalidSchema { place: String::new(), reason: error.to_string(), is_too_large: false }
    }
}

/// The mismatch between a value and a schema, or why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SchemaMismatch(String);

/// A compiled schema. References to other documents are never fetched.
#[derive(Debug)]
pub struct Schema {
    validator: Validator<Metered>,
    /// The bytes of the longest name of a member that may be matched with the patterns of `patternProperties`.
    max_name: usize,
}

impl Schema {
    /// Checks that the schema is valid, patterns included, and not too large, and compiles it.
    pub fn compile(schema: &Value) -> Result<Self, InvalidSchema> {
        let graph = match SchemaGraph::of(schema, MAX_EXPANDED) {
            Ok(graph) => graph,
            // The schema of schemas may know better why the references cannot be read.
            Err(error) => {
                return Err(jsonschema::meta::validate(schema).err().map_or_else(|| error.into(), Into::into));
            }
        };
        expansion::check(&graph).map_err(InvalidSchema::too_large)?;
        let memory = (PATTERN_MEMORY / graph.patterns.max(1)).min(MAX_PATTERN_MEMORY);
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(memory);
        let options = ValidationOptions::default().with_pattern_options(patterns.dfa_size_limit(memory));
        let options =
            options.with_keyword("pattern", move |_, value, _| match PatternKeyword::compile(value, memory) {
                Some(keyword) => Ok(Box::new(keyword) as Box<dyn for<'i> jsonschema::Keyword<'i, Metered>>),
                None => Err(jsonschema::ValidationError::schema(format!("{value} is not a valid regular expression"))),
            });
        let validator = options.build(schema)?;
        let patterns = graph.name_patterns.iter().filter_map(|pattern| Pattern::compile(pattern, memory));
        let max_name = patterns.map(|pattern| pattern.max_length()).min().unwrap_or(usize::MAX);
        Ok(Schema { validator, max_name })
    }

    /// Checks a value for at most one second. Reports one mismatch, with the path of its field.
    pub fn check(&self, value: &Value) -> Result<(), SchemaMismatch> {
        self.check_with_pauses(value, &|| {})
    }

    /// As [`Schema::check`]; a long check calls `pause` now and then, which may let others run.
    pub fn check_with_pauses(&self, value: &Value, pause: &dyn Fn()) -> Result<(), SchemaMismatch> {
        let meter = CheckMeter::new(self.max_name, pause);
        let node = || MeteredNode::new(value, &meter);
        // Finding out that a value does not match takes no memory; finding out why may.
        let excess = match meter.run(|| self.validator.is_valid(node())) {
            Ok(true) => return Ok(()),
            Ok(false) => match meter.run(|| self.validator.validate(node()).err()) {
                Ok(error) => {
                    return Err(SchemaMismatch(error.map_or_else(|| MISMATCH.to_owned(), |error| describe(&error))));
                }
                Err(_) => return Err(SchemaMismatch(MISMATCH.to_owned())),
            },
            Err(excess) => excess,
        };
        let limit = match excess {
            Excess::Time => "the check took longer than 1 s",
            Excess::Pattern => "a text is too long for a pattern of the schema",
            Excess::Stack | Excess::Errors => "the value nests too deeply for the schema",
        };
        Err(SchemaMismatch(format!("{limit}; send less, or use a simpler schema")))
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let field = path.trim_start_matches('/').replace('/', ".");
    let mut text = if field.is_empty() { error.to_string() } else { format!("`{field}`: {error}") };
    // The text repeats the value.
    if text.len() > MAX_MESSAGE {
        text.truncate(text.floor_char_boundary(MAX_MESSAGE));
        text.push_str(" ...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mismatch_names_the_field() {
        let schema = Schema::compile(&json!({
            "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
        }))
        .unwrap();
        assert!(schema.check(&json!({"count": 1})).is_ok());
        let text = schema.check(&json!({"count": "x"})).unwrap_err().to_string();
        assert!(text.starts_with("`count`:"), "{text}");
        let text = schema.check(&json!({})).unwrap_err().to_string();
        assert!(text.contains("count"), "{text}");
    }

    #[test]
    fn an_invalid_schema_is_refused_with_its_place() {
        for (schema, place, reason) in [
            (json!({"type": "strng"}), "/type", "`strng` is not a type"),
            (json!({"properties": {"n": {"type": "strng"}}}), "/properties/n/type", "`strng` is not a type"),
            (json!({"properties": {"n": {"pattern": "["}}}), "/properties/n/pattern", "regular expression"),
            (json!({"properties": {"a/b": {"items": {"pattern": "("}}}}), "/properties/a~1b/items/pattern", "regular"),
            (json!({"patternProperties": {"[": {}}}), "/patternProperties", "["),
            (json!({"required": "n"}), "/required", "array"),
            (json!({"properties": {"n": {"$ref": "#/$defs/none"}}}), "", "none"),
        ] {
            let fault = Schema::compile(&schema).unwrap_err();
            assert!(fault.place.starts_with(place), "{schema}: {fault:?}");
            assert!(fault.reason.contains(reason), "{schema}: {fault:?}");
        }
    }

    #[test]
    fn a_reference_to_the_network_is_not_fetched() {
        assert!(Schema::compile(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_err());
    }

    /// `levels` schemas, each of which allows the next one twice.
    fn doubling(levels: usize, last: Value) -> Value {
        let mut schemas: serde_json::Map<_, _> = (0..levels)
            .map(|level| {
                let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
                (format!("l{level}"), json!({"anyOf": [next, next]}))
            })
            .collect();
        schemas.insert(format!("l{levels}"), last);
        json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/l0"}}, "$defs": schemas})
    }

    #[test]
    fn nested_alternatives_are_too_large_before_they_are_compiled() {
        for levels in [17, 26, 60] {
            let fault = Schema::compile(&doubling(levels, json!({"type": "integer"}))).unwrap_err();
            assert!(fault.problem().starts_with("is too large to be used: "), "{fault}");
        }
        // Also in a circle, and where only parts of the value multiply.
        let circle = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/l0"}}});
        assert!(Schema::compile(&doubling(26, circle)).is_err());
        let levels = (0..26).map(|level| {
            let next = json!({"properties": {"a": {"$ref": format!("#/$defs/l{}", level + 1)}}});
            (format!("l{level}"), json!({"allOf": [next, next]}))
        });
        let mut schemas: serde_json::Map<_, _> = levels.collect();
        schemas.insert("l26".to_owned(), json!({}));
        assert!(Schema::compile(&json!({"$ref": "#/$defs/l0", "$defs": schemas})).is_err());
    }

    #[test]
    fn a_mismatch_of_many_alternatives_is_one_short_message() {
        let schema = Schema::compile(&doubling(13, json!({"type": "integer"}))).unwrap();
        assert!(schema.check(&json!({"v": 1})).is_ok());
        let text = schema.check(&json!({"v": "x".repeat(5000)})).unwrap_err().to_string();
        assert!(text.contains("alternatives"), "{text}");
        let schema = Schema::compile(&doubling(3, json!({"type": "integer"}))).unwrap();
        let text = schema.check(&json!({"v": "x".repeat(5000)})).unwrap_err().to_string();
        assert!(text.starts_with("`v`: ") && text.len() < 1100, "{text}");
    }

    #[test]
    fn recursive_schemas_are_not_large() {
        // An expression of twenty kinds, each of which contains expressions of all kinds.
        let kinds: Vec<String> = (0..20).map(|kind| format!("k{kind}")).collect();
        let any: Vec<Value> = kinds.iter().map(|kind| json!({"$ref": format!("#/$defs/{kind}")})).collect();
        let mut schemas = serde_json::Map::new();
        for kind in &kinds {
            let operands = json!({"type": "array", "items": {"anyOf": any}});
            let properties = json!({"kind": {"const": kind}, "operands": operands, "first": {"anyOf": any}});
            schemas.insert(kind.clone(), json!({"type": "object", "properties": properties, "required": ["kind"]}));
        }
        let schema = Schema::compile(&json!({"anyOf": any, "$defs": schemas})).unwrap();
        let mut value = json!({"kind": "k7"});
        for depth in 0..50 {
            value = json!({"kind": format!("k{}", depth % 20), "operands": [value, {"kind": "k3"}]});
        }
        assert!(schema.check(&value).is_ok());
        assert!(schema.check(&json!({"kind": "k1", "operands": [{"kind": "other"}]})).is_err());
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}});
        let tree = Schema::compile(&tree).unwrap();
        assert!(tree.check(&json!({"left": {"n": 1}, "right": {"left": {"n": 2}}})).is_ok());
        assert!(tree.check(&json!({"left": {"n": 1}, "right": {"left": {"n": "2"}}})).is_err());
    }

    #[test]
    fn a_check_ends_after_a_second_and_pauses_before() {
        // A number matches after 8,000 alternatives that it does not match, and there are a million numbers.
        let mut schema = doubling(13, json!({"type": "string"}));
        schema["properties"]["v"] = json!({"items": {"anyOf": [{"$ref": "#/$defs/l0"}, {"type": "integer"}]}});
        let schema = Schema::compile(&schema).unwrap();
        let pauses = std::cell::Cell::new(0);
        let pause = || pauses.set(pauses.get() + 1);
        assert!(schema.check_with_pauses(&json!({"v": ["x", "y"]}), &pause).is_ok());
        assert_eq!(pauses.get(), 0);
        let text = schema.check_with_pauses(&json!({"v": vec![1; 1_000_000]}), &pause).unwrap_err().to_string();
        assert!(text.contains("longer than 1 s"), "{text}");
        assert!(pauses.get() > 100, "{}", pauses.get());
    }

    #[test]
    fn a_deep_recursion_is_ended_before_the_stack_is() {
        let steps = (0..40).map(|step| {
            let next = if step == 39 {
                json!({"properties": {"a": {"$ref": "#"}}})
            } else {
                json!({"$ref": format!("#/$defs/s{}", step + 1)})
            };
            (format!("s{step}"), json!({"allOf": [next]}))
        });
        let schema = json!({"$ref": "#/$defs/s0", "$defs": serde_json::Map::from_iter(steps)});
        let check = move || {
            let mut value = json!({});
            for _ in 0..2000 {
                value = Value::Object(serde_json::Map::from_iter([("a".to_owned(), value)]));
            }
            Schema::compile(&schema).map(|schema| schema.check(&value).map_err(|error| error.to_string()))
        };
        let checked = std::thread::Builder::new().stack_size(8 << 20).spawn(check).unwrap().join().unwrap();
        assert!(checked.unwrap().unwrap_err().contains("nests too deeply"));
    }

    #[test]
    fn long_chains_and_many_ways_are_refused() {
        let chain = |length: usize| {
            let step = |step: usize| (format!("s{step}"), json!({"$ref": format!("#/$defs/s{}", step + 1)}));
            let steps = (0..length).map(step).chain([(format!("s{length}"), json!({}))]);
            json!({"$ref": "#/$defs/s0", "unevaluatedProperties": false, "$defs": serde_json::Map::from_iter(steps)})
        };
        assert!(Schema::compile(&chain(2000)).unwrap_err().reason.contains("chain"));
        assert!(Schema::compile(&chain(expansion::MAX_CHAIN - 5)).unwrap().check(&json!({"n": 1})).is_err());
        // Every schema allows all others, for the same value or in resources of their own.
        let names: Vec<String> = (0..14).map(|name| format!("n{name}")).collect();
        for keyword in ["anyOf", "prefixItems"] {
            let all = |by: &str| names.iter().map(|name| json!({"$ref": format!("{by}{name}")})).collect::<Vec<_>>();
            let (plain, resources): (Vec<_>, Vec<_>) = names
                .iter()
                .map(|name| {
                    let own = json!({"$id": format!("http://x.test/{name}"), keyword: all("http://x.test/")});
                    ((name.clone(), json!({keyword: all("#/$defs/")})), (name.clone(), own))
                })
                .unzip();
            let schema = |first: &str, schemas| json!({"$ref": first, "$defs": serde_json::Map::from_iter(schemas)});
            let resources = schema("http://x.test/n0", resources);
            assert!(Schema::compile(&resources).unwrap_err().reason.contains("schemas"));
            assert_eq!(Schema::compile(&schema("#/$defs/n0", plain)).is_err(), keyword == "anyOf");
        }
    }

    #[test]
    fn nested_unevaluated_properties_do_not_multiply() {
        let mut nested = json!({"type": "object"});
        for _ in 0..40 {
            nested = json!({"allOf": [nested], "unevaluatedProperties": false});
        }
        // If they did, this would not end.
        assert!(Schema::compile(&nested).is_ok());
    }

    #[test]
    fn a_text_that_is_too_long_for_a_pattern_is_refused() {
        let bits: String =
            (0..200_000u32).map(|n| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { '0' } else { '1' }).collect();
        let heavy = "1[01]{16000}[^01]";
        let name = json!({bits.as_str(): 1});
        for (schema, value) in [
            (json!({"properties": {"v": {"pattern": heavy}}}), json!({"v": bits})),
            (json!({"properties": {"v": {"pattern": format!("(?=.){heavy}")}}}), json!({"v": bits})),
            (json!({"properties": {"v": {"pattern": "^(?:(?![01]*1[01]{10}2).)*x"}}}), json!({"v": bits})),
            (json!({"properties": {"v": {"pattern": r"(.*)\1{2}x"}}}), json!({"v": bits})),
            (json!({"patternProperties": {heavy: {"type": "string"}}}), name.clone()),
            (json!({"additionalProperties": false, "patternProperties": {heavy: {}}}), name.clone()),
            (json!({"propertyNames": {"pattern": heavy}}), name),
        ] {
            let text = Schema::compile(&schema).unwrap().check(&value).unwrap_err().to_string();
            assert!(text.contains("too long for a pattern"), "{schema}: {text}");
        }
    }

    #[test]
    fn honest_look_around_and_references_take_ordinary_texts() {
        for (pattern, text) in [
            (r"^(?!\s*$).+", "a sentence. ".repeat(5000)),
            (r"^(?=.{1,253}$)[a-z]+(\.[a-z]+)*$", "a.b".repeat(80)),
            (r"^(?=.*[a-z])(?=.*\d)[^)(]+$", "passw0rd ".repeat(500)),
            (r#"^(['"]).*\1$"#, format!("'{}'", "x".repeat(1000))),
            (r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", "a".repeat(63)),
        ] {
            let schema = Schema::compile(&json!({"pattern": pattern})).unwrap();
            let checked = schema.check(&json!(text)).map_err(|error| error.to_string());
            assert_eq!(checked, Ok(()), "{pattern}");
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_in_javascript() {
        for (pattern, fits, differs) in [
            (r"^\d+$", "12", "١٢"),
            (r"^\w{1,64}$", "abc_1", "é"),
            (r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", "a-b", "a-"),
            (r"^(?=.*[a-z])(?=.*\d).{8,64}$", "passw0rd", "password"),
            (r"^(a|b)\1$", "aa", "ab"),
            ("b", "abc", "ac"),
        ] {
            let schema = Schema::compile(&json!({"pattern": pattern})).unwrap();
            assert!(schema.check(&json!(fits)).is_ok(), "{pattern}");
            let text = schema.check(&json!(differs)).unwrap_err().to_string();
            assert_eq!(text, format!(r#""{differs}" does not match "{pattern}""#));
            assert!(schema.check(&json!(12)).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn what_is_a_pattern_can_be_in_a_schema() {
        for pattern in [
            "^a+$",
            r"^(?!-)[a-z]+(?<!-)$",
            r"^(a|b)\1$",
            r"^[\p{L}\p{N}]{1,64}$",
            "(",
            "[z-a]",
            "a{2,1}",
            r"\p{Nope}",
            r"\2(a)",
            "(?=",
            "*",
        ] {
            let is_valid = Schema::compile(&json!({"pattern": pattern})).is_ok();
            let is_usable = pattern_state(pattern, MAX_PATTERN_MEMORY) == PatternState::Usable;
            assert_eq!(is_usable, is_valid, "{pattern}");
            let names = Schema::compile(&json!({"patternProperties": {pattern: {}}}));
            assert!(!is_valid || names.is_ok(), "{pattern}");
        }
        assert_eq!(pattern_state(r"\p{L}{300}", 128 << 10), PatternState::Refused);
        assert_eq!(pattern_state("(?>a+)b", 128 << 10), PatternState::Unknown);
    }

    #[test]
    fn patterns_are_bounded_together() {
        let pattern = |index| (format!("p{index}"), json!({"pattern": format!("^({index}\\w{{1,100}}){{1,5}}$")}));
        let schema = |count| json!({"properties": serde_json::Map::from_iter((0..count).map(pattern))});
        assert!(Schema::compile(&schema(2)).is_ok());
        assert!(Schema::compile(&schema(2000)).is_err());
    }
}
