//! The graph of a schema: which part of it applies which other parts, directly or by a reference.

use std::collections::HashMap;

use jsonschema::{Draft, Registry, uri};
use serde_json::Value;

/// The base of references in a schema without `$id`; never fetched.
const BASE: &str = "json-schema:///";

/// The keywords of schemas for the same value: one schema each, a list, or a map of schemas.
const SAME_VALUE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// The keywords of schemas for parts of the value.
const PARTS: [&str; 11] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// The keywords whose value is a map of schemas, by names that are no keywords.
const MAPS: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The parts of a schema that a check can reach; the first is the schema itself.
#[derive(Default)]
pub(super) struct SchemaGraph {
    pub(super) parts: Vec<Part>,
    /// How many patterns the parts have, those for names included.
    pub(super) patterns: usize,
    /// The patterns of `patternProperties`.
    pub(super) name_patterns: Vec<String>,
    /// Whether parts have an `$id` of their own. What their references mean can depend on the way to them.
    pub(super) has_resources: bool,
}

#[derive(Default)]
pub(super) struct Part {
    /// The parts that apply to the same value.
    pub(super) same_value: Vec<usize>,
    /// The parts that apply to parts of the value.
    pub(super) below: Vec<usize>,
}

impl SchemaGraph {
    /// Reads a schema; stops after `max_parts` parts. Fails if the schema as a whole cannot be read. References that lead
    /// nowhere are left out.
    pub(super) fn of(schema: &Value, max_parts: usize) -> Result<Self, jsonschema::ReferencingError> {
        let draft = Draft::default().detect(schema);
        let resource = draft.create_resource_ref(schema);
        let base = match resource.id() {
            Some(id) => uri::resolve_against(&uri::from_str(BASE)?.borrow(), id)?,
            None => uri::from_str(BASE)?,
        };
        let registry = Registry::new().draft(draft).add(base.as_str(), resource)?.prepare()?;

        let mut graph = SchemaGraph::default();
        let mut known: HashMap<*const Value, usize> = HashMap::new();
        let mut unread = vec![(schema, registry.resolver(base), draft)];
        known.insert(std::ptr::from_ref(schema), 0);
        graph.parts.push(Part::default());
        while let Some((part, resolver, draft)) = unread.pop() {
            if graph.parts.len() > max_parts {
                break;
            }
            let Value::Object(members) = part else { continue };
            let index = known[&std::ptr::from_ref(part)];
            let resource = draft.create_resource_ref(part);
            graph.has_resources |= index > 0 && resource.id().is_some();
            let resolver = if index > 0 { resolver.in_subresource(resource)? } else { resolver };
            graph.patterns += usize::from(members.contains_key("pattern"));
            for (keyword, value) in members {
                let is_reference = REFERENCES.contains(&keyword.as_str());
                let same_value = is_reference || SAME_VALUE.contains(&keyword.as_str());
                let applied: Vec<_> = if is_reference {
                    let reference = value.as_str().and_then(|reference| resolver.lookup(reference).ok());
                    reference.map(|target| target.into_inner()).into_iter().collect()
                } else if same_value || PARTS.contains(&keyword.as_str()) {
                    subschemas(keyword, value).map(|part| (part, resolver.clone(), draft)).collect()
                } else {
                    continue;
                };
                if keyword == "patternProperties" {
                    graph.patterns += applied.len();
                    graph.name_patterns.extend(value.as_object().into_iter().flat_map(|map| map.keys().cloned()));
                }
                for target in applied {
                    let next = graph.parts.len();
                    let place = *known.entry(std::ptr::from_ref(target.0)).or_insert(next);
                    if place == next {
                        graph.parts.push(Part::default());
                        unread.push(target);
                    }
                    let part = &mut graph.parts[index];
                    if same_value { part.same_value.push(place) } else { part.below.push(place) }
                }
            }
        }
        Ok(graph)
    }
}

/// The schemas in the value of a keyword.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> impl Iterator<Item = &'a Value> {
    let (map, list, one) = match value {
        Value::Object(map) if MAPS.contains(&keyword) => (Some(map), None, None),
        Value::Array(list) => (None, Some(list), None),
        one => (None, None, Some(one)),
    };
    map.into_iter().flat_map(|map| map.values()).chain(list.into_iter().flatten()).chain(one)
}
