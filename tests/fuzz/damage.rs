//! Input that is nearly right: a line of a corpus with a few changes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Pieces with a meaning in the formats that the proxy reads.
const TOKENS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    ":",
    ",",
    "null",
    "1e999",
    "-0",
    "0.1",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "é",
    "data:",
    "id:",
    "event:",
    "retry: 1",
    "{+x}",
    "{?a,b*}",
    "{",
    "${X}",
    "- ",
    "  ",
    "&a",
    "*a",
    "<<: ",
    "=?base64?",
    "?=",
    "\"id\":1,",
    "\"$ref\":\"#\"",
    "%00",
];

#[derive(Clone, Debug)]
enum Change {
    Insert(Index, &'static str),
    Byte(Index, u8),
    Remove(Index, Index),
    /// Copies one part behind another, which makes duplicates and deep nesting.
    Copy(Index, Index, Index),
}

/// Lines of a corpus, changed in up to eight places.
pub fn damaged(corpus: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let seeds: Vec<&str> = corpus.split("\n====\n").collect();
    let change = prop_oneof![
        (any::<Index>(), select(&TOKENS[..])).prop_map(|(at, token)| Change::Insert(at, token)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Remove(from, to)),
        (any::<Index>(), any::<Index>(), any::<Index>()).prop_map(|(from, to, at)| Change::Copy(from, to, at)),
    ];
    (select(seeds), vec(change, 0..8)).prop_map(|(seed, changes)| {
        let mut bytes = seed.as_bytes().to_vec();
        for change in changes {
            apply(&mut bytes, &change);
        }
        bytes
    })
}

/// As [`damaged`], but always UTF-8.
pub fn damaged_text(corpus: &'static str) -> impl Strategy<Value = String> {
    damaged(corpus).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let position = |at: &Index| at.index(bytes.len() + 1);
    let range = |from: &Index, to: &Index| {
        let (from, to) = (position(from), position(to));
        from.min(to)..from.max(to)
    };
    match change {
        Change::Insert(at, token) => {
            let at = position(at);
            bytes.splice(at..at, token.bytes());
        }
        Change::Byte(at, byte) => {
            let at = position(at);
            if at < bytes.len() {
                bytes[at] = *byte;
            }
        }
        Change::Remove(from, to) => {
            let range = range(from, to);
            bytes.drain(range);
        }
        Change::Copy(from, to, at) => {
            let part = bytes[range(from, to)].to_vec();
            let at = position(at);
            bytes.splice(at..at, part);
        }
    }
}
