//! The only conversion between JSON and Starlark values. It preserves integers of any size and the order of keys, and no
//! number makes it panic.

mod from_json;
mod into_json;

pub use from_json::{text_to_starlark, to_starlark};
pub use into_json::{to_json, to_object};

use std::fmt;

/// What cannot be converted, and its path in the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    message: String,
    /// Innermost first.
    path: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
}

impl ConvertError {
    fn new(message: impl Into<String>) -> Self {
        ConvertError { message: message.into(), path: Vec::new() }
    }

    fn key(mut self, key: &str) -> Self {
        self.path.push(PathStep::Key(key.to_owned()));
        self
    }

    fn index(mut self, index: usize) -> Self {
        self.path.push(PathStep::Index(index));
        self
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.message);
        }
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                PathStep::Key(key) if path.is_empty() => path.push_str(key),
                PathStep::Key(key) => path.extend([".", key]),
                PathStep::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        write!(formatter, "`{path}`: {}", self.message)
    }
}

impl std::error::Error for ConvertError {}

impl From<ConvertError> for starlark::Error {
    fn from(error: ConvertError) -> Self {
        super::script_error(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starlark::values::Heap;

    fn round_trip(text: &str) -> Result<String, String> {
        Heap::temp(|heap| {
            let value = text_to_starlark(text, heap).map_err(|error| error.to_string())?;
            to_json(value, heap).map(|json| json.to_string()).map_err(|error| error.to_string())
        })
    }

    #[test]
    fn json_survives_the_way_in_and_out() {
        for text in [
            "null",
            "true",
            "0",
            "-1",
            "9007199254740993",
            "18446744073709551616",
            "-123456789012345678901234567890",
            "1.5",
            "1e300",
            r#""text \" \u0001""#,
            r#"{"z":1,"a":[{},[],null],"m":{"b":false}}"#,
        ] {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            let result: serde_json::Value = serde_json::from_str(&round_trip(text).unwrap()).unwrap();
            assert_eq!(proxy_json::canonical(&result), proxy_json::canonical(&expected), "{text}");
        }
        assert_eq!(round_trip(r#"{"z":1,"a":2}"#).unwrap(), r#"{"z":1,"a":2}"#);
    }

    #[test]
    fn an_object_that_would_make_a_map_slow_is_an_error_with_its_path() {
        let object = |names: &[String]| {
            let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":1")).collect();
            format!(r#"{{"a":[{{{}}}]}}"#, members.join(","))
        };
        let numbered = |count: usize| (0..count).map(|number| format!("name {number}")).collect::<Vec<_>>();
        assert!(round_trip(&object(&numbered(10_000))).is_ok());
        assert_eq!(
            round_trip(&object(&numbered(10_001))).unwrap_err(),
            "`a[0]`: an object with 10001 members; scripts can read at most 10000"
        );
        let equal = names_with_equal_hashes(65);
        assert!(round_trip(&object(&equal[..64])).is_ok());
        let refused = round_trip(&object(&equal)).unwrap_err();
        assert_eq!(refused, "`a[0]`: an object with too many keys that have the same hash");
    }

    /// The engine's hash of eight letters depends on the first four, and on five bits of a product with the rest.
    fn names_with_equal_hashes(count: usize) -> Vec<String> {
        let hash = |name: &String| Heap::temp(|heap| heap.alloc_str(name).get_hashed_value().hash().get());
        let names = || (0..10_000).map(|number| format!("name{number:04}"));
        let wanted = hash(&names().next().unwrap());
        let found: Vec<String> = names().filter(|name| hash(name) == wanted).take(count).collect();
        assert_eq!(found.len(), count);
        found
    }

    #[test]
    fn a_number_nobody_can_hold_is_an_error_with_its_path() {
        assert_eq!(round_trip("1e400").unwrap_err(), "number out of range: 1e+400");
        assert_eq!(round_trip(r#"{"a":[0,{"b":-1e999}]}"#).unwrap_err(), "`a[1].b`: number out of range: -1e+999");
        let long = "9".repeat(20_000);
        assert!(round_trip(&long).unwrap_err().starts_with("number out of range: 99999"));
    }
}
