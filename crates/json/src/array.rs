//! Reads arrays element by element, and finds the largest array in a value. Neither parses the elements.

use std::ops::Range;

use super::RawRef;
use super::scan::{end_of_string, end_of_value, skip_space};

/// The elements of an array, in order, borrowed from its text.
#[derive(Debug)]
pub struct Elements<'a> {
    text: &'a str,
    /// Where the next element begins.
    at: usize,
}

impl RawRef {
    /// The elements of an array; `None` for any other value.
    pub fn elements(&self) -> Option<Elements<'_>> {
        let text = self.get();
        text.starts_with('[').then(|| Elements { text, at: skip_space(text.as_bytes(), 1) })
    }

    /// Where `part`, which was borrowed from this value, stands in its text.
    pub fn range_of(&self, part: &RawRef) -> Option<Range<usize>> {
        let start = part.get().as_ptr().addr().checked_sub(self.get().as_ptr().addr())?;
        let end = start + part.get().len();
        (end <= self.get().len()).then_some(start..end)
    }

    /// The largest array, by bytes, among those with at least two elements that are nested at most `depth` deep. The value
    /// itself is at depth 1.
    pub fn largest_array(&self, depth: usize) -> Option<&RawRef> {
        let text = self.get();
        let bytes = text.as_bytes();
        let mut open: Vec<OpenBracket> = Vec::new();
        let mut largest: Range<usize> = 0..0;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = end_of_string(bytes, at + 1);
                    continue;
                }
                b'[' | b'{' => open.push(OpenBracket { at, is_array: *byte == b'[', has_several: false }),
                b',' => {
                    if let Some(innermost) = open.last_mut() {
                        innermost.has_several = true;
                    }
                }
                b']' | b'}' => {
                    let level = open.len();
                    let Some(closed) = open.pop() else { break };
                    let is_larger = at + 1 - closed.at > largest.len();
                    if closed.is_array && closed.has_several && level <= depth && is_larger {
                        largest = closed.at..at + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        (!largest.is_empty()).then(|| RawRef::of(&text[largest]))
    }
}

/// A bracket that is not closed yet.
struct OpenBracket {
    at: usize,
    is_array: bool,
    /// Whether a comma separates two elements.
    has_several: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a RawRef;

    fn next(&mut self) -> Option<&'a RawRef> {
        let bytes = self.text.as_bytes();
        if matches!(bytes.get(self.at), None | Some(b']')) {
            return None;
        }
        let start = self.at;
        let end = end_of_value(bytes, start);
        let comma = skip_space(bytes, end);
        self.at = match bytes.get(comma) {
            Some(b',') => skip_space(bytes, comma + 1),
            _ => bytes.len(),
        };
        Some(RawRef::of(&self.text[start..end]))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Raw, RawRef, valid};

    fn parsed(text: &str) -> Raw {
        valid(text.to_owned()).unwrap()
    }

    #[test]
    fn elements_keep_their_bytes() {
        let of = |text: &str| -> Vec<String> {
            let value = parsed(text);
            value.elements().unwrap().map(|element| element.get().to_owned()).collect()
        };
        assert_eq!(
            of("[ 1.10 ,[2, 3],{\"a\":\"],\"} ,\n\"x\\\"]\",null]"),
            ["1.10", "[2, 3]", "{\"a\":\"],\"}", "\"x\\\"]\"", "null"]
        );
        assert_eq!(of("[]"), [""; 0]);
        assert_eq!(of("[ ]"), [""; 0]);
        assert_eq!(of("[9223372036854775808]"), ["9223372036854775808"]);
        for text in ["{}", "1", "\"[1]\""] {
            assert!(parsed(text).elements().is_none(), "{text}");
        }
    }

    #[test]
    fn the_largest_array_is_the_one_with_most_bytes_and_something_to_cut_between() {
        let largest = |text: &str| parsed(text).largest_array(3).map(|array| array.get().to_owned());
        assert_eq!(largest(r#"{"a":[1,2],"b":{"c":[1,2,3]},"d":"[1,2,3,4,5,6]"}"#).as_deref(), Some("[1,2,3]"));
        assert_eq!(largest(r#"[{"rows":[1,2,3]}]"#).as_deref(), Some("[1,2,3]"), "an array of one cannot be cut");
        assert_eq!(largest(r#"[[1,2],[3,4]]"#).as_deref(), Some("[[1,2],[3,4]]"));
        assert_eq!(largest(r#"{"a":{"b":{"c":[1,2]}}}"#), None, "too deep");
        assert_eq!(largest(r#"{"a":[1],"b":{"x":1,"y":2}}"#), None);
        assert_eq!(largest("1"), None);
    }

    #[test]
    fn a_part_is_found_where_it_stands() {
        let value = parsed(r#"{"a": [1, 22]}"#);
        let array = value.member("a").unwrap();
        assert_eq!(value.range_of(array), Some(6..13));
        let last = array.elements().unwrap().last().unwrap();
        assert_eq!(value.range_of(last), Some(10..12));
        assert_eq!(value.range_of(RawRef::NULL), None);
    }
}
