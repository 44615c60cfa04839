//! YAML files as JSON values, with their aliases and merge keys resolved.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// The only document of a file.
pub fn parse(text: &str) -> Value {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: HashMap::new() };
    loop {
        match reader.event() {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            event => return reader.value(event),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, Value>,
}

impl<'a> Reader<'a> {
    fn event(&mut self) -> Event<'a> {
        self.parser.next_event().expect("a document has an end").expect("it is YAML").0
    }

    fn value(&mut self, event: Event<'a>) -> Value {
        let (value, anchor) = match event {
            Event::Alias(anchor) => return self.anchors[&anchor].clone(),
            Event::Scalar(text, ScalarStyle::Plain, anchor, _) => (plain(&text), anchor),
            Event::Scalar(text, _, anchor, _) => (Value::String(text.into_owned()), anchor),
            Event::SequenceStart(anchor, _) => (Value::Array(self.items()), anchor),
            Event::MappingStart(anchor, _) => (Value::Object(self.entries()), anchor),
            other => panic!("a value is missing before {other:?}"),
        };
        self.anchors.insert(anchor, value.clone());
        value
    }

    fn items(&mut self) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            match self.event() {
                Event::SequenceEnd => return items,
                event => items.push(self.value(event)),
            }
        }
    }

    /// The entries of a map. Those that are merged into it yield to its own.
    fn entries(&mut self) -> Map<String, Value> {
        let mut entries = Map::new();
        let mut merged = Map::new();
        loop {
            let key = match self.event() {
                Event::MappingEnd => break,
                Event::Scalar(key, ..) => key.into_owned(),
                other => panic!("a key must be a string, not {other:?}"),
            };
            let event = self.event();
            let value = self.value(event);
            match value {
                Value::Object(more) if key == "<<" => merged = more,
                value => drop(entries.insert(key, value)),
            }
        }
        merged.extend(entries);
        merged
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" | "false" => Value::Bool(text == "true"),
        _ => text.parse::<i64>().map_or_else(|_| Value::String(text.to_owned()), Value::from),
    }
}
