//! Odd but legal messages, one per line of `tests/corpus/odd_messages.jsonl`.

use super::message::member;

/// What an entry can be used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A tool result, to be returned by `raw`.
    Result,
    /// An arguments object, to be returned by `echo`.
    Arguments,
}

#[derive(Clone, Debug)]
pub struct Odd {
    pub name: String,
    pub kind: Use,
    /// The value, byte for byte.
    pub json: String,
}

pub fn odd_messages() -> Vec<Odd> {
    include_str!("../corpus/odd_messages.jsonl").lines().filter(|line| !line.is_empty()).map(parse).collect()
}

fn parse(line: &str) -> Odd {
    let part = |name: &str| member(line, name);
    let (kind, json) = match (part("result"), part("arguments")) {
        (Some(json), None) => (Use::Result, json),
        (None, Some(json)) => (Use::Arguments, json),
        _ => panic!("an entry has either a result or arguments: {line}"),
    };
    let name = part("name").and_then(|raw| serde_json::from_str(&raw).ok());
    Odd { name: name.unwrap_or_else(|| panic!("an entry has a name: {line}")), kind, json }
}
