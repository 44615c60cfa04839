//! `root-union`: a schema whose root is a union becomes one object with the properties of all alternatives. What each
//! alternative requires is told in the tool's description.

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::references::resolve;
use crate::change::{Changes, brief};

const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// How many unions and references are followed inside each other.
const MAX_LEVELS: usize = 8;
/// How many kinds of one property are kept apart.
const MAX_KINDS: usize = 16;
/// How many schemas are read. What comes after them allows everything.
const MAX_SCHEMAS: usize = 5000;
/// How many alternatives are told.
const MAX_TOLD_BRANCHES: usize = 20;
/// The length of what is told about the alternatives.
const MAX_TOLD: usize = 400;

pub(crate) fn merge_root_union(schema: &mut Value, changes: &mut Changes) {
    let Value::Object(members) = &*schema else { return };
    let is_union = UNIONS.iter().any(|keyword| members.contains_key(*keyword));
    if !is_union && !members.contains_key("$ref") {
        return;
    }
    let root = schema.clone();
    let mut reader = Reader { root: &root, left: MAX_SCHEMAS };
    let shape = reader.shape(&root, 0);
    let Value::Object(members) = schema else { return };
    let mut alternatives = Vec::new();
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = members.get(keyword) {
            alternatives.extend(branches.iter().take(MAX_TOLD_BRANCHES).map(|branch| {
                let mut reader = Reader { root: &root, left: MAX_SCHEMAS / MAX_TOLD_BRANCHES };
                reader.shape(branch, 1)
            }));
        }
    }
    for keyword in UNIONS.into_iter().chain(["$ref", "unevaluatedProperties", "additionalProperties"]) {
        members.shift_remove(keyword);
    }
    members.insert("type".to_owned(), "object".into());
    members.insert("properties".to_owned(), Value::Object(shape.merged_properties()));
    if shape.required.is_empty() {
        members.shift_remove("required");
    } else {
        members.insert("required".to_owned(), json!(shape.required));
    }
    changes.take_from_tool("alternatives merged", told(&alternatives));
}

/// The arguments that each alternative requires, beyond its fixed values.
fn told(alternatives: &[Shape]) -> String {
    let each: Vec<String> = alternatives.iter().map(Shape::told).filter(|text| !text.is_empty()).collect();
    if each.is_empty() {
        return "not every combination is allowed".to_owned();
    }
    brief(&format!("one of ({})", each.join(") or (")), MAX_TOLD)
}

/// What is known of objects that match a schema.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// The schemas of each property, in the order in which they were found.
    properties: IndexMap<String, Vec<Value>>,
    required: IndexSet<String>,
}

/// Reads the schemas of one tool.
struct Reader<'a> {
    root: &'a Value,
    /// How many schemas may still be read.
    left: usize,
}

impl Reader<'_> {
    fn shape(&mut self, schema: &Value, level: usize) -> Shape {
        let Value::Object(members) = schema else { return Shape::default() };
        let mut shape = Shape::default();
        if self.left == 0 {
            return shape;
        }
        self.left -= 1;
        if let Some(Value::Object(properties)) = members.get("properties") {
            for (name, schema) in properties {
                shape.add(name, schema);
            }
        }
        if let Some(Value::Array(required)) = members.get("required") {
            let names = required.iter().filter_map(Value::as_str);
            shape.required = names.map(str::to_owned).collect();
        }
        if level >= MAX_LEVELS {
            return shape;
        }
        let target = members.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(self.root, reference));
        if let Some(target) = target {
            shape.add_all_of(self.shape(target, level + 1));
        }
        if let Some(Value::Array(parts)) = members.get("allOf") {
            for part in parts {
                shape.add_all_of(self.shape(part, level + 1));
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = members.get(keyword) {
                let branches: Vec<Shape> = branches.iter().map(|branch| self.shape(branch, level + 1)).collect();
                shape.add_one_of(branches);
            }
        }
        shape
    }
}

impl Shape {
    fn add(&mut self, name: &str, schema: &Value) {
        let kinds = self.properties.entry(name.to_owned()).or_default();
        if kinds.len() <= MAX_KINDS && !kinds.contains(schema) {
            kinds.push(schema.clone());
        }
    }

    fn add_properties(&mut self, other: &Shape) {
        for (name, kinds) in &other.properties {
            kinds.iter().for_each(|schema| self.add(name, schema));
        }
    }

    /// Adds a schema that also holds.
    fn add_all_of(&mut self, other: Shape) {
        self.add_properties(&other);
        self.required.extend(other.required);
    }

    /// Adds schemas of which one holds. Required is what all of them require.
    fn add_one_of(&mut self, branches: Vec<Shape>) {
        for branch in &branches {
            self.add_properties(branch);
        }
        let Some((first, others)) = branches.split_first() else { return };
        let by_all = first.required.iter().filter(|name| others.iter().all(|other| other.required.contains(*name)));
        self.required.extend(by_all.cloned());
    }

    fn merged_properties(&self) -> Map<String, Value> {
        self.properties.iter().map(|(name, kinds)| (name.clone(), one_of_kinds(kinds))).collect()
    }

    /// Its fixed values and what it requires: `kind "file", path`.
    fn told(&self) -> String {
        let fixed = self.properties.iter().filter_map(|(name, kinds)| {
            let [only] = &kinds[..] else { return None };
            let value = match only.get("enum") {
                Some(Value::Array(values)) if values.len() == 1 => values.first(),
                _ => only.get("const"),
            };
            Some((name, value?))
        });
        let fixed: Vec<(&String, &Value)> = fixed.collect();
        let required = self.required.iter().filter(|name| fixed.iter().all(|(known, _)| known != name)).cloned();
        fixed.iter().map(|(name, value)| format!("{name} {value}")).chain(required).collect::<Vec<_>>().join(", ")
    }
}

/// One schema for a property that has several.
fn one_of_kinds(kinds: &[Value]) -> Value {
    if let [only] = kinds {
        return only.clone();
    }
    if kinds.len() > MAX_KINDS {
        return json!({});
    }
    texts(kinds).unwrap_or_else(|| json!({"anyOf": kinds}))
}

/// The alternatives of a property that has certain texts only, as the names of variants have.
fn texts(kinds: &[Value]) -> Option<Value> {
    let mut all: Vec<Value> = Vec::new();
    let mut description = None;
    for kind in kinds {
        let members = kind.as_object()?;
        let is_plain = |name: &String| matches!(name.as_str(), "type" | "enum" | "const" | "description" | "title");
        if !members.keys().all(is_plain) {
            return None;
        }
        let fixed = members.get("const").map(std::slice::from_ref);
        let values = fixed.or_else(|| members.get("enum").and_then(Value::as_array).map(Vec::as_slice))?;
        if !values.iter().all(Value::is_string) {
            return None;
        }
        all.extend(values.iter().filter(|value| !all.contains(value)).cloned().collect::<Vec<_>>());
        description = description.or_else(|| members.get("description").cloned());
    }
    let mut merged = Map::from_iter([("type".to_owned(), Value::from("string")), ("enum".to_owned(), all.into())]);
    merged.extend(description.map(|text| ("description".to_owned(), text)));
    Some(Value::Object(merged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_become_one_object_that_tells_them() {
        let mut schema = json!({
            "type": "object",
            "properties": {"dry": {"type": "boolean"}},
            "oneOf": [
                {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
                {"$ref": "#/$defs/url"},
            ],
            "$defs": {"url": {
                "properties": {"kind": {"const": "url"}, "url": {"type": "string"}, "path": {"type": "integer"}},
                "required": ["kind", "url"],
            }},
        });
        let mut changes = Changes::new();
        merge_root_union(&mut schema, &mut changes);
        let expected = json!({
            "dry": {"type": "boolean"},
            "kind": {"type": "string", "enum": ["file", "url"]},
            "path": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "url": {"type": "string"},
        });
        assert_eq!(schema["properties"], expected);
        assert_eq!(schema["required"], json!(["kind"]));
        assert!(schema.get("oneOf").is_none());
        assert_eq!(changes.notes, [r#"one of (kind "file", path) or (kind "url", url)"#]);
        assert!(changes.takes_constraint);
    }

    #[test]
    fn a_root_that_refers_to_itself_ends() {
        let mut schema = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {}}});
        let mut changes = Changes::new();
        merge_root_union(&mut schema, &mut changes);
        assert_eq!(schema, json!({"properties": {"a": {}}, "type": "object"}));
    }
}
