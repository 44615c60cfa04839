//! `refs`: puts what a reference refers to in its place. What refers to itself ends after some levels, other documents are
//! never fetched, and a schema that grows too large ends with schemas that allow everything.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::walk::{Holds, holds};
use crate::change::{Changes, Path};

/// How many references are followed inside each other.
const MAX_FOLLOWED: usize = 8;
/// How large a schema may become, in bytes.
const MAX_BYTES: usize = 256 << 10;
/// How deep schemas may nest.
const MAX_NESTING: usize = 64;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Where referenced schemas are kept, and what names them.
const DEFINITIONS: [&str; 5] = ["$defs", "definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
/// Keywords that say nothing about values.
const ANNOTATIONS: [&str; 8] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];

pub(crate) fn inline_references(schema: &mut Value, changes: &mut Changes) {
    let is_small = size(schema, MAX_BYTES) < MAX_BYTES;
    let has_definitions = schema.get("$defs").is_some() || schema.get("definitions").is_some();
    if is_small && !has_definitions && !has_references(schema, 0) {
        return;
    }
    let root = std::mem::take(schema);
    let mut inliner = Inliner { named: Names::of(&root), root: &root, left: MAX_BYTES, changes };
    *schema = inliner.schema(&root, &Path::ROOT, 0, 0);
}

/// The schema that a reference of this document means; `None` if there is none in it.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let own = root.get("$id").and_then(Value::as_str).unwrap_or_default();
    let fragment = match reference.split_once('#') {
        Some((document, fragment)) if document.is_empty() || document == own.trim_end_matches('#') => fragment,
        None if !own.is_empty() && reference == own => "",
        _ => return None,
    };
    if fragment.is_empty() {
        return Some(root);
    }
    if fragment.starts_with('/') { root.pointer(&decoded(fragment)) } else { None }
}

/// A fragment without `%` escapes.
pub(super) fn decoded(fragment: &str) -> String {
    percent_encoding::percent_decode_str(fragment).decode_utf8_lossy().into_owned()
}

/// Schemas that are referred to by a name and not by their place.
struct Names<'a>(HashMap<String, &'a Value>);

impl<'a> Names<'a> {
    fn of(root: &'a Value) -> Self {
        let mut names = Names(HashMap::new());
        names.collect(root, 0);
        names
    }

    fn collect(&mut self, value: &'a Value, nesting: usize) {
        if nesting > 2 * MAX_NESTING {
            return;
        }
        match value {
            Value::Object(members) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(keyword) {
                        self.0.entry(format!("#{name}")).or_insert(value);
                    }
                }
                if let Some(Value::String(id)) = members.get("$id") {
                    self.0.entry(id.clone()).or_insert(value);
                }
                members.values().for_each(|value| self.collect(value, nesting + 1));
            }
            Value::Array(items) => items.iter().for_each(|value| self.collect(value, nesting + 1)),
            _ => {}
        }
    }
}

struct Inliner<'a, 'c> {
    root: &'a Value,
    named: Names<'a>,
    /// How many bytes the result may still get.
    left: usize,
    changes: &'c mut Changes,
}

impl<'a> Inliner<'a, '_> {
    fn schema(&mut self, schema: &'a Value, at: &Path<'_>, followed: usize, nesting: usize) -> Value {
        // Also a schema without members costs something.
        self.spend(3);
        let Value::Object(members) = schema else { return self.data(schema) };
        if self.left == 0 {
            return self.ended(members, at, "larger than 256 KiB");
        }
        if nesting > MAX_NESTING {
            return self.ended(members, at, "more levels");
        }
        let reference = REFERENCES.iter().find_map(|keyword| Some((*keyword, members.get(*keyword)?.as_str()?)));
        let Some((keyword, reference)) = reference else { return self.members(members, at, followed, nesting) };
        if followed == MAX_FOLLOWED {
            return self.ended(members, at, "more levels of the same");
        }
        let target = resolve(self.root, reference).or_else(|| self.named.0.get(reference).copied());
        let Some(target) = target else {
            return self.ended(members, at, &format!("see {reference}"));
        };
        self.changes.note(at, || format!("`{reference}` inlined"));
        let inlined = self.schema(target, at, followed + 1, nesting + 1);
        if members.len() == 1 {
            return inlined;
        }
        let mut own = Map::new();
        for (name, value) in members.iter().filter(|(name, _)| *name != keyword) {
            if let Some(value) = self.member(name, value, at, followed, nesting) {
                own.insert(name.clone(), value);
            }
        }
        self.merged(inlined, own, at)
    }

    fn members(&mut self, members: &'a Map<String, Value>, at: &Path<'_>, followed: usize, nesting: usize) -> Value {
        let mut own = Map::new();
        for (name, value) in members {
            if let Some(value) = self.member(name, value, at, followed, nesting) {
                own.insert(name.clone(), value);
            }
        }
        Value::Object(own)
    }

    /// A member of a schema; `None` if it is no longer needed.
    fn member(
        &mut self,
        name: &str,
        value: &'a Value,
        at: &Path<'_>,
        followed: usize,
        nesting: usize,
    ) -> Option<Value> {
        if DEFINITIONS.contains(&name) {
            self.changes.note(at, || format!("without `{name}`"));
            return None;
        }
        self.spend(name.len() + 4);
        let at = at.name(name);
        Some(match (holds(name), value) {
            (Holds::Schema | Holds::List, Value::Array(schemas)) => {
                let mut list = Vec::new();
                for (index, schema) in schemas.iter().enumerate() {
                    list.push(self.schema(schema, &at.index(index), followed, nesting + 1));
                    // Everything that follows would be the same.
                    if self.left == 0 {
                        break;
                    }
                }
                Value::Array(list)
            }
            (Holds::Schema, schema) => self.schema(schema, &at, followed, nesting + 1),
            (Holds::Map, Value::Object(schemas)) => {
                let mut map = Map::new();
                for (name, schema) in schemas {
                    self.spend(name.len() + 4);
                    map.insert(name.clone(), self.schema(schema, &at.name(name), followed, nesting + 1));
                }
                Value::Object(map)
            }
            (_, data) => self.data(data),
        })
    }

    fn data(&mut self, data: &Value) -> Value {
        self.spend(size(data, self.left + 1));
        data.clone()
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// A schema that allows everything, with the description of the one that it replaces.
    fn ended(&mut self, members: &Map<String, Value>, at: &Path<'_>, told: &str) -> Value {
        let mut open = Map::new();
        if let Some(description @ Value::String(_)) = members.get("description")
            && self.left > 0
        {
            open.insert("description".to_owned(), description.clone());
        }
        self.changes.take(&mut open, at, told);
        self.spend(told.len() + 40);
        Value::Object(open)
    }

    /// A schema with what stands beside the reference to it. Both hold for a value.
    fn merged(&mut self, target: Value, siblings: Map<String, Value>, at: &Path<'_>) -> Value {
        let Value::Object(mut merged) = target else {
            if target == Value::Bool(true) {
                return Value::Object(siblings);
            }
            let mut siblings = siblings;
            self.changes.take(&mut siblings, at, "never allowed");
            return Value::Object(siblings);
        };
        let is_about_values = |name: &String| !ANNOTATIONS.contains(&name.as_str());
        let interferes = siblings.keys().filter(|name| is_about_values(name)).any(|name| is_part_of(name, &merged));
        let mut lost = Vec::new();
        for (name, value) in siblings {
            if !is_about_values(&name) || !merged.contains_key(&name) {
                merged.insert(name, value);
                continue;
            }
            match (name.as_str(), merged.get_mut(&name)) {
                (_, Some(known)) if *known == value => {}
                ("required", Some(Value::Array(known))) if value.is_array() => {
                    for more in value.as_array().into_iter().flatten() {
                        if !known.contains(more) {
                            known.push(more.clone());
                        }
                    }
                }
                ("properties", Some(Value::Object(known))) if value.is_object() => {
                    for (property, schema) in value.as_object().into_iter().flatten() {
                        if !known.contains_key(property) {
                            known.insert(property.clone(), schema.clone());
                        } else if known.get(property) != Some(schema) {
                            lost.push(format!("{property}: {schema}"));
                        }
                    }
                }
                _ => lost.push(format!("{name}: {value}")),
            }
        }
        for constraint in &lost {
            self.changes.take(&mut merged, at, constraint);
        }
        if interferes && lost.is_empty() {
            self.changes.take(&mut merged, at, "the properties of one of its parts only");
        }
        Value::Object(merged)
    }
}

/// Whether a keyword means something else where it stands beside others of this schema.
fn is_part_of(keyword: &str, members: &Map<String, Value>) -> bool {
    const GROUPS: [&[&str]; 4] = [
        &["additionalProperties", "unevaluatedProperties", "properties", "patternProperties"],
        &["items", "prefixItems", "additionalItems", "unevaluatedItems"],
        &["contains", "minContains", "maxContains"],
        &["if", "then", "else"],
    ];
    let Some(group) = GROUPS.iter().find(|group| group.contains(&keyword)) else { return false };
    let others = group.iter().filter(|other| members.contains_key(**other));
    // Properties beside properties are both looked at.
    others.into_iter().any(|other| !(keyword == "properties" && *other == "properties"))
}

fn has_references(value: &Value, nesting: usize) -> bool {
    match value {
        Value::Object(members) => {
            nesting > MAX_NESTING
                || members
                    .iter()
                    .any(|(name, value)| REFERENCES.contains(&name.as_str()) || has_references(value, nesting + 1))
        }
        Value::Array(items) => items.iter().any(|value| has_references(value, nesting + 1)),
        _ => false,
    }
}

/// About how many bytes the text of a value has; counts no further than `max`.
fn size(value: &Value, max: usize) -> usize {
    let mut sum = 2;
    match value {
        Value::String(text) => sum += text.len(),
        Value::Number(number) => sum += number.to_string().len(),
        Value::Bool(_) | Value::Null => sum += 4,
        Value::Array(items) => {
            for item in items {
                sum += size(item, max.saturating_sub(sum)) + 1;
                if sum > max {
                    break;
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                sum += name.len() + 4 + size(member, max.saturating_sub(sum));
                if sum > max {
                    break;
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inlined(mut schema: Value) -> (Value, Changes) {
        let mut changes = Changes::new();
        inline_references(&mut schema, &mut changes);
        (schema, changes)
    }

    #[test]
    fn references_are_replaced_by_what_they_mean() {
        let (schema, changes) = inlined(json!({
            "type": "object",
            "properties": {
                "by": {"$ref": "#/$defs/a~1b%20c", "description": "who"},
                "named": {"$ref": "#user"},
                "$ref": {"type": "string"},
            },
            "$defs": {"a/b c": {"type": "string", "description": "any"}, "u": {"$anchor": "user", "type": "integer"}},
        }));
        let expected = json!({
            "type": "object",
            "properties": {
                "by": {"type": "string", "description": "who"},
                "named": {"type": "integer"},
                "$ref": {"type": "string"},
            },
        });
        assert_eq!(schema, expected);
        assert!(!changes.takes_constraint);
    }

    #[test]
    fn what_refers_to_itself_to_nothing_or_elsewhere_ends() {
        let (schema, changes) = inlined(json!({
            "type": "object",
            "properties": {
                "tree": {"$ref": "#/$defs/tree"},
                "self": {"$ref": "#/properties/self"},
                "none": {"$ref": "#/$defs/none"},
                "other": {"$ref": "https://example.com/schema.json", "description": "another"},
            },
            "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}},
        }));
        assert!(changes.takes_constraint);
        assert!(!schema.to_string().contains("\"$ref\""), "{schema}");
        let mut levels = 0;
        let mut tree = &schema["properties"]["tree"];
        while tree["type"] == "object" {
            levels += 1;
            tree = &tree["properties"]["left"];
        }
        assert_eq!(levels, MAX_FOLLOWED);
        assert_eq!(tree["description"], "more levels of the same");
        let other = &schema["properties"]["other"];
        assert_eq!(other["description"], "another. see https://example.com/schema.json");
    }

    #[test]
    fn a_schema_that_multiplies_ends_early() {
        let wide: Map<String, Value> = (0..40).map(|n| (format!("p{n}"), json!({"$ref": "#"}))).collect();
        let began = std::time::Instant::now();
        let (schema, changes) = inlined(json!({"type": "object", "properties": wide}));
        assert!(changes.takes_constraint);
        assert!(schema.to_string().len() < 4 * MAX_BYTES, "{}", schema.to_string().len());
        assert!(began.elapsed().as_secs() < 5);
    }
}
