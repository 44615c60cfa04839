//! The result of `completion/complete` for the values that a function returned.

use serde_json::{Value, json};

use super::result::type_of;
use proxy_json::{Raw, raw};

/// The maximum number of values that MCP allows in a completion.
pub const MAX_COMPLETIONS: usize = 100;

/// The result with the first values, their total number, and whether there are more.
///
/// # Errors
/// What was returned, if it is not a list of texts.
pub fn shaped_completion(returned: Value) -> Result<Raw, String> {
    let Value::Array(mut values) = returned else {
        return Err(format!("returned {}, not a list of texts", type_of(&returned)));
    };
    if let Some((index, wrong)) = values.iter().enumerate().find(|(_, value)| !value.is_string()) {
        return Err(format!("returned a list whose item {index} is {}, not text", type_of(wrong)));
    }
    let total = values.len();
    values.truncate(MAX_COMPLETIONS);
    Ok(raw(&json!({"completion": {"values": values, "total": total, "hasMore": total > MAX_COMPLETIONS}})))
}

/// The result for an argument that nothing completes.
pub fn no_completion() -> Raw {
    raw(&json!({"completion": {"values": [], "hasMore": false}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hundred_values_are_sent_with_the_number_of_all() {
        let many: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
        let result: Value = serde_json::from_str(shaped_completion(json!(many)).unwrap().get()).unwrap();
        let completion = &result["completion"];
        assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(10_000), &json!(true)));
        let few = shaped_completion(json!(["a"])).unwrap();
        assert_eq!(few.get(), r#"{"completion":{"values":["a"],"total":1,"hasMore":false}}"#);
    }

    #[test]
    fn anything_but_a_list_of_texts_is_refused() {
        for (returned, told) in [
            (json!("text"), "returned text, not a list of texts"),
            (Value::Null, "returned None, not a list of texts"),
            (json!({"values": []}), "returned a dict, not a list of texts"),
            (json!(["a", 1]), "returned a list whose item 1 is a number, not text"),
        ] {
            assert_eq!(shaped_completion(returned).unwrap_err(), told);
        }
    }
}
