//! Parser for JSON with comments and trailing commas.

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};

use super::{MAX_DEPTH, Node, NodeKey, SyntaxError, Value};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    refuse_deep_nesting(text)?;
    // Comments and trailing commas, as editors write them; not all of JSON5.
    let options = ParseOptions {
        allow_missing_commas: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let range = error.range();
        SyntaxError::new(format!("invalid JSON: {}", lower_first(&error.kind().to_string())), range.start..range.end)
    })?;
    Ok(parsed.value.map_or(Node { value: Value::Null, span: 0..0 }, node))
}

/// Rejects deep nesting, because the parser is recursive and would overflow the stack.
fn refuse_deep_nesting(text: &str) -> Result<(), SyntaxError> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            // A single quote character in a comment must not affect the following lines.
            b'\n' => quoted = false,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(SyntaxError::new("nesting is too deep", index..index + 1));
        }
    }
    Ok(())
}

fn node(value: ast::Value) -> Node {
    let range = value.range();
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::String(literal.value.into_owned()),
        ast::Value::Array(array) => Value::List(array.elements.into_iter().map(node).collect()),
        ast::Value::Object(object) => Value::Map(object.properties.into_iter().map(entry).collect()),
    };
    Node { value, span: range.start..range.end }
}

fn entry(property: ast::ObjectProp) -> (NodeKey, Node) {
    let range = property.name.range();
    (NodeKey { text: property.name.into_string(), span: range.start..range.end }, node(property.value))
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_may_have_comments_tabs_and_trailing_commas() {
        let text = "{\n\t// a comment\n\t\"serve\": { \"maxSessions\": 5, }, /* and more */\n}";
        let root = parse(text).unwrap();
        let found = root.get("serve").unwrap().get("maxSessions").unwrap();
        assert_eq!(found.value, Value::Number("5".to_owned()));
        assert_eq!(&text[found.span.clone()], "5");
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let error = parse("{\n  \"a\": tru\n}").unwrap_err();
        assert_eq!(error.message, "invalid JSON: unexpected word");
        assert_eq!(error.span.start, 9);
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert_eq!(parse(&"[".repeat(100_000)).unwrap_err().message, "nesting is too deep");
        assert!(parse(&format!("[\"{}\"]", "[".repeat(1000))).is_ok());
    }

    #[test]
    fn an_empty_file_is_nothing() {
        assert_eq!(parse(" // nothing\n").unwrap().value, Value::Null);
    }

    #[test]
    fn escapes_of_characters_beyond_16_bits_are_read() {
        let parsed = parse(
            r#"{"\ud83d\ude00": "a\uD83D\uDE00b", // emoji
        }"#,
        );
        let Value::Map(entries) = parsed.unwrap().value else { panic!("no map") };
        assert_eq!((entries[0].0.text.as_str(), &entries[0].1.value), ("😀", &Value::String("a😀b".to_owned())));
        for wrong in [r#"{"a": "\ud83d"}"#, r#"{"a": 1 "b": 2}"#, r#"{"a": 0x10}"#, r#"{"a": NaN}"#] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
