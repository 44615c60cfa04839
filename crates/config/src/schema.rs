//! The JSON Schema of config files, for editors. Generated from the keys that the config readers request.

use serde_json::{Map, Value, json};

use super::load::recorded;
use super::syntax::reader::{ANY_KEY, ITEM, Shape};

/// A string that contains a variable may become anything.
const VARIABLE: &str = r"\$\{";

/// The JSON Schema of config files. `description` gives the text about a key by its path, such as `serve.http`.
pub fn json_schema(description: &dyn Fn(&[&str]) -> Option<String>) -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "proxy.yaml",
        "description": "Config file of the MCP proxy",
    });
    for (path, shape) in recorded() {
        let steps = steps(&path);
        let keys: Vec<&str> = steps.iter().copied().filter(|step| *step != ANY_KEY && *step != ITEM).collect();
        let place = steps.iter().fold(&mut schema, |node, step| below(node, step));
        let Value::Object(members) = place else { continue };
        // An entry of a list or a map has no text of its own, and must have a value.
        let is_key = steps.last().is_none_or(|last| *last != ANY_KEY && *last != ITEM);
        if let Some(text) = description(&keys).filter(|_| is_key) {
            members.insert("description".to_owned(), text.into());
        }
        members.extend(of_shape(&shape));
        if is_key {
            allow_null(members);
        }
    }
    schema
}

/// The steps of a path: `aggregation.tools[0].filter` has four.
fn steps(path: &str) -> Vec<&str> {
    let parts = path.split('.').filter(|part| !part.is_empty());
    let split = |part| match str::strip_suffix(part, ITEM) {
        Some(key) => vec![key, ITEM],
        None => vec![part],
    };
    parts.flat_map(split).collect()
}

/// The schema of what is one step below.
fn below<'a>(node: &'a mut Value, step: &str) -> &'a mut Value {
    match step {
        ANY_KEY => &mut node["additionalProperties"],
        ITEM => &mut node["items"],
        key => {
            let properties = &mut node["properties"];
            if properties.get(key).is_none() {
                properties[key] = json!({});
            }
            &mut properties[key]
        }
    }
}

/// A key without a value counts as absent.
fn allow_null(members: &mut Map<String, Value>) {
    match members.get_mut("type") {
        Some(Value::Array(types)) => types.push("null".into()),
        Some(one) => *one = json!([one.take(), "null"]),
        None => {
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.push(json!({"type": "null"}));
            }
        }
    }
}

/// The members of a schema for values of this shape.
fn of_shape(shape: &Shape) -> Map<String, Value> {
    let members = match shape {
        Shape::Unknown | Shape::Any => json!({}),
        Shape::String => json!({"type": "string"}),
        Shape::Text => json!({"type": ["string", "number", "boolean"]}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Integer(least) => json!({"type": "integer", "minimum": least}),
        Shape::Fraction => {
            json!({"type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": VARIABLE})
        }
        Shape::Duration => {
            json!({"type": "string", "pattern": format!(r"^[0-9]+ *(ms|s|m|h)$|{VARIABLE}")})
        }
        Shape::DurationOrOff => {
            json!({"type": "string", "pattern": format!(r"^([0-9]+ *(ms|s|m|h)|off)$|{VARIABLE}")})
        }
        Shape::Size => json!({
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": format!("^[0-9]+ *(B|KB|MB|GB|KiB|MiB|GiB)?$|{VARIABLE}"),
        }),
        Shape::Choice(words) => {
            json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": VARIABLE}]})
        }
        Shape::AnyMap => json!({"type": "object"}),
        Shape::Fields => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        Shape::FieldsOrString => {
            json!({"type": ["object", "string"], "properties": {}, "additionalProperties": false})
        }
        Shape::Map => json!({"type": "object", "additionalProperties": {}}),
        Shape::List => json!({"type": "array", "items": {}}),
    };
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::syntax::tree::{self, Node};
    use crate::template;

    fn value(node: &Node) -> Value {
        match &node.value {
            tree::Value::Null => Value::Null,
            tree::Value::Bool(value) => json!(value),
            tree::Value::Number(text) => serde_json::from_str(text).unwrap(),
            tree::Value::String(text) | tree::Value::Block(text) => json!(text),
            tree::Value::List(items) => items.iter().map(value).collect(),
            tree::Value::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.text.clone(), value(node))).collect())
            }
        }
    }

    fn faults(text: &str) -> Vec<String> {
        let schema = json_schema(&|_| None);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut config = value(&tree::parse(Path::new("proxy.yaml"), text).unwrap());
        if config.is_null() {
            config = json!({});
        }
        validator.iter_errors(&config).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    #[test]
    fn the_template_and_every_documented_config_fit() {
        assert_eq!(faults(template()), [""; 0]);
        let uncommented: String = template().lines().map(|line| line.replacen("# ", "", 1) + "\n").collect();
        let begin = uncommented.find("mcpServers:").unwrap();
        let servers = &uncommented[begin..uncommented.find("Your own tools").unwrap()];
        assert_eq!(faults(servers), [""; 0], "{servers}");
        let pages = [
            include_str!("../../../docs/reference/config.md"),
            include_str!("../../../docs/getting-started/first-steps.md"),
        ];
        let blocks: Vec<&str> = pages
            .iter()
            .flat_map(|page| page.split("```yaml\n").skip(1))
            .map(|rest| rest.split("```").next().unwrap_or_default())
            .collect();
        assert!(blocks.len() > 8, "{}", blocks.len());
        for block in blocks.into_iter().chain([include_str!("../../../proxy.yaml")]) {
            assert_eq!(faults(block), [""; 0], "{block}");
        }
    }

    #[test]
    fn what_the_config_refuses_does_not_fit() {
        for wrong in [
            "mcpServers: {a: {comand: x}}",
            "mcpServers: {a: {command: x, timeout: 30}}",
            "mcpServers: {a: {command: x, timeout: soon}}",
            "mcpServers: {a: {command: x, scope: own}}",
            "serve: {maxSessions: 0}",
            "serve: {maxBodyBytes: 4M}",
            "aggregation: {tools: [{workload: a, filter: x}]}",
            "aggregation: {prompts: [{overrides: {a: {annotations: {}}}}]}",
            "sessionInit: {script: [1]}",
            "auth: {tokens: [{token: [x]}]}",
            "rateLimiting: {global: {maxTokens: x}}",
            "zzz: 1",
            "mcpServers: {a: {command: x, env: {A: }}}",
        ] {
            assert_ne!(faults(wrong), [""; 0], "{wrong}");
        }
    }

    #[test]
    fn variables_and_keys_without_a_value_fit() {
        let text = "mcpServers:\nserve: {maxBodyBytes: '${SIZE}', sessionIdleTimeout: '${IDLE:-1m}', firstList: 0s}\n\
                    aggregation: {conflictResolution: '${HOW}'}\nsessionInit: {params: {a: [1, {b: null}]}}\n";
        assert_eq!(faults(text), [""; 0]);
    }
}
