//! The arguments that a script removes from a server's tool by publishing a narrower schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use proxy_json::Schema;

/// The keywords whose values are lists of schemas for the same object.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The keywords whose value is a schema for the same object.
const CONDITIONAL: [&str; 3] = ["if", "then", "else"];

/// The arguments that the server's own schema names and the published one does not.
pub(super) fn withheld_arguments(published: &Value, own: &Value) -> Vec<String> {
    let named = Names::of(published);
    let mut withheld: Vec<String> = Names::of(own).names.into_iter().filter(|name| !named.contains(name)).collect();
    withheld.sort();
    withheld
}

/// The first argument that a schema does not name. A schema that says what further arguments are like names all of them.
pub(super) fn unnamed_argument(schema: &Value, arguments: &Value) -> Option<String> {
    if schema.get("additionalProperties").is_some_and(|further| *further != Value::Bool(false)) {
        return None;
    }
    let named = Names::of(schema);
    let mut names = arguments.as_object().into_iter().flatten().map(|(name, _)| name);
    names.find(|name| !named.contains(name)).cloned()
}

/// The arguments that a schema names.
#[derive(Default)]
struct Names {
    names: HashSet<String>,
    patterns: Map<String, Value>,
    /// The references that were followed already.
    followed: HashSet<String>,
}

impl Names {
    fn of(schema: &Value) -> Self {
        let mut names = Names::default();
        names.add(schema, schema);
        names
    }

    fn contains(&self, name: &str) -> bool {
        self.names.contains(name) || self.matches(name)
    }

    fn matches(&self, name: &str) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let schema = json!({"patternProperties": self.patterns, "additionalProperties": false});
        let mut sample = Map::new();
        sample.insert(name.to_owned(), Value::Null);
        Schema::compile(&schema).is_ok_and(|schema| schema.check(&Value::Object(sample)).is_ok())
    }

    /// Adds the names in `schema`, a part of `root` that describes the same object.
    fn add(&mut self, schema: &Value, root: &Value) {
        let Some(members) = schema.as_object() else { return };
        let object = |keyword: &str| members.get(keyword).and_then(Value::as_object).into_iter().flatten();
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array).into_iter().flatten();
        self.names.extend(object("properties").map(|(name, _)| name.clone()));
        self.names.extend(list("required").filter_map(Value::as_str).map(str::to_owned));
        self.patterns.extend(object("patternProperties").map(|(pattern, _)| (pattern.clone(), Value::Bool(true))));
        for part in COMBINED.into_iter().flat_map(list) {
            self.add(part, root);
        }
        for part in CONDITIONAL.into_iter().filter_map(|keyword| members.get(keyword)) {
            self.add(part, root);
        }
        for (_, part) in object("dependentSchemas") {
            self.add(part, root);
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str)
            && self.followed.insert(reference.to_owned())
            && let Some(target) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
        {
            self.add(target, root);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_server_names_is_withheld() {
        let own = json!({
            "type": "object",
            "properties": {"path": {}, "force": {}},
            "allOf": [{"properties": {"mode": {}}}, {"$ref": "#/$defs/more"}],
            "$defs": {"more": {"properties": {"depth": {}}, "$ref": "#"}},
        });
        let withheld = |published: Value| withheld_arguments(&published, &own);
        assert_eq!(withheld(json!({"properties": {"path": {}}})), ["depth", "force", "mode"]);
        assert_eq!(
            withheld(json!({"properties": {"path": {}, "new": {}}, "patternProperties": {"^d": {}}})),
            ["force", "mode"]
        );
        assert_eq!(withheld(json!({"anyOf": [{"required": ["path"]}, {"required": ["mode"]}]})), ["depth", "force"]);
        assert_eq!(withheld(own.clone()), [""; 0]);
        assert_eq!(withheld(json!({"type": "object"})), ["depth", "force", "mode", "path"]);
    }
}
