use proptest::prelude::*;
use proxy_json::{Object, ObjectError, raw, too_deep};
use serde_json::{Map, Value};

use super::damage::damaged_text;
use super::{fuzz, is_json};

/// The scanner finds the members that serde_json finds, and an edit of the text is the same edit of the value.
#[test]
fn edits_of_raw_objects_agree_with_serde_json() {
    let input = (damaged_text(include_str!("../corpus/fuzz/messages.txt")), any::<u8>(), any::<i32>());
    fuzz(&input, |(text, which, number)| {
        if too_deep(text.as_bytes()) {
            return Ok(());
        }
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(&text);
        let object = match Object::parse(&text) {
            Ok(object) => object,
            // serde_json lets the last of two equal members win.
            Err(ObjectError::Duplicate(_)) => return Ok(()),
            Err(_) => {
                prop_assert!(parsed.is_err(), "refused, but serde_json reads it: {}", text);
                return Ok(());
            }
        };
        let mut expected = match parsed {
            Ok(expected) => expected,
            // A string with half a surrogate pair is JSON, though no text. It is passed on as it is written.
            Err(error) => {
                prop_assert!(is_json(text.as_bytes()), "accepted, but not JSON: {}", error);
                prop_assert_eq!(object.edit().finish(), text.trim_matches([' ', '\t', '\n', '\r']));
                return Ok(());
            }
        };
        for (key, value) in object.iter() {
            prop_assert_eq!(&serde_json::from_str::<Value>(value.get()).expect("a member is JSON"), &expected[key]);
        }
        prop_assert_eq!(object.len(), expected.len());
        // White space around a value is not part of it.
        prop_assert_eq!(object.edit().finish(), text.trim_matches([' ', '\t', '\n', '\r']));

        let keys: Vec<String> = expected.keys().cloned().collect();
        let key = keys.get(usize::from(which) % (keys.len() + 1)).cloned().unwrap_or_else(|| "new\n\"key".to_owned());
        let edited = object.edit().set(&key, &raw(&number)).finish();
        expected.insert(key.clone(), number.into());
        prop_assert_eq!(&serde_json::from_str::<Map<String, Value>>(&edited).expect("still JSON"), &expected);
        let removed = object.edit().remove(&key).finish();
        expected.shift_remove(&key);
        prop_assert_eq!(&serde_json::from_str::<Map<String, Value>>(&removed).expect("still JSON"), &expected);
        Ok(())
    });
}
