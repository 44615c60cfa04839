//! Reads a description into a tree. Examples, which are half of most descriptions, are left out while reading: they are data of
//! any form, in which nothing has the meaning of a keyword.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::node::{Node, NodeMap};

/// The maximum number of values. A description of 20 MB has about a million.
const MAX_VALUES: usize = 4_000_000;
/// Objects whose member names are chosen by the author of the description.
const NAMED: [&str; 12] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependentRequired",
    "$defs",
    "definitions",
    "schemas",
    "responses",
    "parameters",
    "requestBodies",
    "paths",
    "mapping",
];
/// Members whose value is data.
const DATA: [&str; 3] = ["default", "enum", "const"];
const LEFT_OUT: [&str; 4] = ["example", "examples", "x-codeSamples", "x-code-samples"];

/// What the members of an object are.
#[derive(Clone, Copy, PartialEq)]
enum Members {
    Keywords,
    Names,
    Data,
}

impl Members {
    /// What the members of the value of a member are.
    fn below(self, name: &str) -> Members {
        match self {
            Members::Data => Members::Data,
            Members::Names => Members::Keywords,
            Members::Keywords if DATA.contains(&name) => Members::Data,
            Members::Keywords if NAMED.contains(&name) => Members::Names,
            Members::Keywords => Members::Keywords,
        }
    }
}

/// Reads JSON.
pub(crate) fn read_json(text: &str) -> Result<Node, String> {
    let text = text.trim_start_matches('\u{feff}');
    if proxy_json::too_deep(text.as_bytes()) {
        return Err(format!("it nests more than {} levels deep", proxy_json::MAX_DEPTH));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    read(&mut deserializer).map_err(|error| format!("invalid JSON: {error}")).and_then(|node| {
        match deserializer.end() {
            Ok(()) => Ok(node),
            Err(error) => Err(format!("invalid JSON: {error}")),
        }
    })
}

/// Takes a value that was read from another format.
pub(crate) fn read_value(value: &Value) -> Result<Node, String> {
    if depth_exceeds(value, proxy_json::MAX_DEPTH) {
        return Err(format!("it nests more than {} levels deep", proxy_json::MAX_DEPTH));
    }
    read(value).map_err(|error| error.to_string())
}

fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left == 0 || items.iter().any(|item| depth_exceeds(item, left - 1)),
        Value::Object(members) => left == 0 || members.values().any(|member| depth_exceeds(member, left - 1)),
        _ => false,
    }
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
    let values = Cell::new(0);
    NodeSeed { members: Members::Keywords, values: &values }.deserialize(deserializer)
}

#[derive(Clone, Copy)]
struct NodeSeed<'a> {
    members: Members,
    values: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            return Err(D::Error::custom(format!("it has more than {MAX_VALUES} values")));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string().into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string().into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Number(value.to_string().into()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        Ok(Node::Number(value.to_string().into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Node::Null, |number| Node::Number(number.to_string().into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        // A list of data is data; a list of schemas or parameters has objects with keywords.
        let below = if self.members == Members::Data { Members::Data } else { Members::Keywords };
        while let Some(item) = items.next_element_seed(NodeSeed { members: below, ..self })? {
            list.push(item);
        }
        Ok(Node::List(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(Box<str>, Node)> = Vec::new();
        while let Some(key) = members.next_key::<Key>()? {
            // How serde_json passes a number that it keeps as text. A member of that name is somebody's joke.
            if &*key.0 == NUMBER_TOKEN {
                match members.next_value_seed(NodeSeed { members: Members::Data, ..self })? {
                    Node::Text(text) if is_number(&text) => return Ok(Node::Number(text)),
                    other => entries.push((key.0, other)),
                }
                continue;
            }
            if self.members == Members::Keywords && LEFT_OUT.contains(&&*key.0) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let below = self.members.below(&key.0);
            entries.push((key.0, members.next_value_seed(NodeSeed { members: below, ..self })?));
        }
        Ok(Node::Map(Box::new(NodeMap::new(entries))))
    }
}

const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// Whether a text is a number of JSON and nothing else.
fn is_number(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    is_plain && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

struct Key(Box<str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Key(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_left_out_where_they_are_examples() {
        let text = r#"{"example": {"$id": 1}, "properties": {"example": {"type": "string", "example": 1}},
            "default": {"example": 1.10}, "a": [{"examples": []}], "n": 1.10, "big": 12345678901234567890123}"#;
        let expected = r#"{"properties":{"example":{"type":"string"}},"default":{"example":1.10},"a":[{}],"n":1.10,"big":12345678901234567890123}"#;
        assert_eq!(read_json(text).unwrap().to_json(), expected);
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read_value(&value).unwrap().to_json(), expected);
    }

    #[test]
    fn a_member_that_poses_as_a_number_is_none() {
        let posing = r#"{"default": {"$serde_json::private::Number": "oops"}, "n": 7}"#;
        assert_eq!(read_json(posing).unwrap().to_json(), posing.replace(": ", ":").replace(", ", ","));
        for text in ["1, \"x\": 2", " 1", "1 ", "", "0x1", "NaN", "1.", "01"] {
            let member = serde_json::json!({"default": {NUMBER_TOKEN: text}});
            let written = read_json(&member.to_string()).unwrap().to_json();
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&written).is_ok(), "{written}");
            assert!(written.contains("private"), "{written}");
        }
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_refused() {
        assert!(read_json("{").unwrap_err().starts_with("invalid JSON"));
        assert!(read_json("{} {}").unwrap_err().starts_with("invalid JSON"));
        assert!(read_json(&"[".repeat(100_000)).unwrap_err().contains("levels deep"));
        let mut value = Value::Null;
        for _ in 0..200 {
            value = Value::Array(vec![value]);
        }
        assert!(read_value(&value).unwrap_err().contains("levels deep"));
        assert!(read_json("\u{feff}{}").is_ok(), "a byte order mark");
    }
}
