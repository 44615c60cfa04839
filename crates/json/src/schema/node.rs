//! A JSON value as the `jsonschema` library sees it: every access to a part of it is counted.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};

use super::meter::CheckMeter;

/// Looks for reading a text: a pattern may try 100,000 steps on a short one.
const LOOKS_PER_TEXT: u32 = 64;
/// The length of a text that takes long to read, in bytes.
const LONG_TEXT: usize = 4 << 10;

/// The representation that the library checks.
pub(super) struct Metered;

#[derive(Clone, Copy)]
pub(super) struct MeteredNode<'a, T: ?Sized = Value> {
    value: &'a T,
    meter: &'a CheckMeter<'a>,
}

impl<'a, T: ?Sized> MeteredNode<'a, T> {
    pub(super) fn new(value: &'a T, meter: &'a CheckMeter<'a>) -> Self {
        MeteredNode { value, meter }
    }
}

/// The name of a member, checked as a text of its own.
#[derive(Default)]
pub(super) struct NameBuffer(Value);

impl Json for Metered {
    type Node<'a> = MeteredNode<'a>;
    type PreparedKey = String;
    type StringBuffer = NameBuffer;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    /// The library has no place for the meter of the check here. The member itself is counted by that meter.
    fn with_string_node<T>(buffer: &mut NameBuffer, string: &str, f: impl FnOnce(MeteredNode<'_>) -> T) -> T {
        SerdeJson::with_string_node(&mut buffer.0, string, |value| f(MeteredNode::new(value, &CheckMeter::for_name())))
    }
}

impl<'a> Node<'a, Metered> for MeteredNode<'a> {
    type Object = MeteredNode<'a, Map<String, Value>>;
    type Array = MeteredNode<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        self.meter.count(1);
        self.value.as_object().map(|members| MeteredNode::new(members, self.meter))
    }

    fn as_array(&self) -> Option<Self::Array> {
        self.meter.count(1);
        self.value.as_array().map(|items| MeteredNode::new(items.as_slice(), self.meter))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.value.as_str()?;
        self.count_text(text);
        Some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.meter.count(1);
        self.value.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.meter.count(1);
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.meter.count(1);
        self.value.is_null()
    }

    fn is_number(&self) -> bool {
        self.meter.count(1);
        self.value.is_number()
    }

    fn json_type(&self) -> JsonType {
        self.meter.count(1);
        self.value.json_type()
    }

    fn string_length(&self) -> Option<u64> {
        self.count_text(self.value.as_str()?);
        self.value.string_length()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self.value {
            Value::Object(_) | Value::Array(_) => self.meter.count_long(),
            Value::String(text) => self.count_text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.meter.count(1),
        }
        self.value.equals_value(expected)
    }

    /// Only errors need the value.
    fn to_value(&self) -> Cow<'a, Value> {
        self.meter.count_error();
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.value.identity()
    }
}

impl MeteredNode<'_> {
    fn count_text(&self, text: &str) {
        if text.len() > LONG_TEXT { self.meter.count_long() } else { self.meter.count(LOOKS_PER_TEXT) }
    }
}

impl<'a> Object<'a, Metered> for MeteredNode<'a, Map<String, Value>> {
    type Node = MeteredNode<'a>;
    type MemberName = &'a str;
    type MembersIter = NodeMembers<'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn get(&self, key: &String) -> Option<MeteredNode<'a>> {
        self.meter.count(1);
        self.value.get(key).map(|value| MeteredNode::new(value, self.meter))
    }

    fn members(&self) -> NodeMembers<'a> {
        NodeMembers { members: self.value.iter(), meter: self.meter }
    }
}

pub(super) struct NodeMembers<'a> {
    members: serde_json::map::Iter<'a>,
    meter: &'a CheckMeter<'a>,
}

impl<'a> Iterator for NodeMembers<'a> {
    type Item = (&'a str, MeteredNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        self.meter.count_name(name);
        Some((name, MeteredNode::new(value, self.meter)))
    }
}

impl<'a> Array<'a, Metered> for MeteredNode<'a, [Value]> {
    type Node = MeteredNode<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements { elements: self.value.iter(), meter: self.meter }
    }

    fn is_unique(&self) -> bool {
        self.meter.count_long();
        jsonschema::json::unique::is_unique(self.value)
    }
}

pub(super) struct Elements<'a> {
    elements: std::slice::Iter<'a, Value>,
    meter: &'a CheckMeter<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = MeteredNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.elements.next()?;
        self.meter.count(1);
        Some(MeteredNode::new(value, self.meter))
    }
}
