//! Finds keys that occur twice in one object. Parsers differ about which of the two counts, so what a policy has checked
//! need not be what the receiver uses.

use std::borrow::Cow;
use std::collections::HashSet;

use super::scan::{skip_space, string};
use super::{ObjectError, RawRef};

/// An object with such a key is a number or a raw value to `serde_json`, and an object to everybody else.
const RESERVED: &str = "$serde_json::private::";
/// Up to this many keys, comparing all pairs is faster than a set. Most objects have only a handful.
const FEW: usize = 16;

/// Checks that no object in the value, at any depth, has a duplicate or reserved key. Reads the text once and builds no
/// values. The error names the path of the key, such as `options.0.path`.
pub fn check_unique_keys(value: &RawRef) -> Result<(), ObjectError> {
    let (text, bytes) = (value.get(), value.get().as_bytes());
    // The keys of all objects that are open, the innermost last.
    let mut keys: Vec<Cow<'_, str>> = Vec::new();
    let mut open: Vec<Bracket> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let (behind, escaped) = string(bytes, at);
                // Only a key is followed by a colon.
                if bytes.get(skip_space(bytes, behind)) == Some(&b':') {
                    let key = key(text, at - 1, behind, escaped)?;
                    if key.starts_with(RESERVED) {
                        return Err(ObjectError::Reserved(key.into_owned()));
                    }
                    keys.push(key);
                }
                at = behind;
            }
            b'{' => open.push(Bracket::Object { first_key: keys.len() }),
            b'[' => open.push(Bracket::Array { index: 0 }),
            b',' => {
                if let Some(Bracket::Array { index }) = open.last_mut() {
                    *index += 1;
                }
            }
            b'}' => {
                let Some(Bracket::Object { first_key }) = open.last() else { continue };
                let first_key = *first_key;
                if let Some(twice) = repeated(keys.len() - first_key, |index| keys[first_key + index].as_ref()) {
                    return Err(ObjectError::Duplicate(path(&open, &keys, &keys[first_key + twice])));
                }
                keys.truncate(first_key);
                open.pop();
            }
            b']' => drop(open.pop()),
            _ => {}
        }
    }
    Ok(())
}

/// A bracket that is not closed yet.
enum Bracket {
    /// The position of the object's first key among all keys.
    Object {
        first_key: usize,
    },
    Array {
        index: usize,
    },
}

/// The key whose quotes are at `start` and before `end`.
pub(super) fn key(text: &str, start: usize, end: usize, escaped: bool) -> Result<Cow<'_, str>, ObjectError> {
    if escaped {
        return Ok(Cow::Owned(serde_json::from_str(&text[start..end])?));
    }
    Ok(Cow::Borrowed(&text[start + 1..end - 1]))
}

/// The index of the first key that occurs earlier as well.
pub(super) fn repeated<'k>(count: usize, key: impl Fn(usize) -> &'k str) -> Option<usize> {
    if count <= FEW {
        return (1..count).find(|index| (0..*index).any(|earlier| key(earlier) == key(*index)));
    }
    let mut seen = HashSet::with_capacity(count);
    (0..count).find(|index| !seen.insert(key(*index)))
}

/// The path of a key of the innermost open object.
fn path(open: &[Bracket], keys: &[Cow<'_, str>], key: &str) -> String {
    let mut parts: Vec<Cow<'_, str>> = Vec::with_capacity(open.len());
    // An object's last key so far leads to the object inside it, whose first key is the next one.
    let mut inner: Option<usize> = None;
    for bracket in open.iter().rev() {
        match bracket {
            Bracket::Array { index } => parts.push(index.to_string().into()),
            Bracket::Object { first_key } => {
                parts.push(inner.map_or(key, |inner| keys[inner - 1].as_ref()).into());
                inner = Some(*first_key);
            }
        }
    }
    parts.reverse();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate(text: &str) -> Option<String> {
        let value = crate::valid(text.to_owned()).unwrap();
        match check_unique_keys(&value) {
            Ok(()) => None,
            Err(ObjectError::Duplicate(path)) => Some(path),
            Err(error) => panic!("{text}: {error}"),
        }
    }

    #[test]
    fn a_key_that_stands_for_something_else_is_refused() {
        for text in [r#"{"a":{"$serde_json::private::Number":"1"}}"#, r#"{"\u0024serde_json::private::RawValue":"1"}"#]
        {
            let value = crate::valid(text.to_owned());
            // The parser itself may refuse it.
            let Ok(value) = value else { continue };
            assert!(matches!(check_unique_keys(&value), Err(ObjectError::Reserved(_))), "{text}");
        }
        assert!(check_unique_keys(&crate::valid(r#"{"$ref":1}"#.to_owned()).unwrap()).is_ok());
    }

    #[test]
    fn a_duplicate_is_found_at_any_depth_and_named_by_its_path() {
        for (text, path) in [
            (r#"{"a":1,"a":2}"#, "a"),
            (r#"{"path":1,"p\u0061th":2}"#, "path"),
            (r#"{"o":{"x":{},"n":1,"n":2}}"#, "o.n"),
            (r#"{"o":{"n":1},"p":[{},[{"a":"b"}, {"k" : 1, "k" :2}]]}"#, "p.1.1.k"),
            (r#"[{"a":{"b":1}},{"a":{"b":[],"b":1}}]"#, "1.a.b"),
            (r#"{"a":{"b":1,"c":2},"b":[1,2],"a":3}"#, "a"),
            (r#"{"":1,"":2}"#, ""),
        ] {
            assert_eq!(duplicate(text).as_deref(), Some(path), "{text}");
        }
        let many: Vec<String> = (0..40).map(|number| format!("\"k{number}\":{number}")).collect();
        assert_eq!(duplicate(&format!("{{{},\"k7\":0}}", many.join(","))).as_deref(), Some("k7"));
        assert_eq!(duplicate(&format!("{{{}}}", many.join(","))), None);
    }

    #[test]
    fn keys_of_different_objects_may_be_equal() {
        for text in [
            "1",
            r#""a""#,
            "{}",
            r#"{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1},{"a":1}]}"#,
            r#"{"a":"x\":","b":":","c":"{\"a\":1,\"a\":2}"}"#,
            r#"{"A":1,"a":2,"a ":3}"#,
        ] {
            assert_eq!(duplicate(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_that_is_no_text_is_refused() {
        let value = crate::valid(r#"{"o":{"\ud800":1}}"#.to_owned()).unwrap();
        assert!(matches!(check_unique_keys(&value), Err(ObjectError::Invalid(_))));
    }
}
