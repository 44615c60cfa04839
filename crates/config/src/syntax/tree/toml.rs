//! Parser for TOML, in which Codex keeps its servers.

use toml::de::{DeTable, DeValue};

use super::{Node, NodeKey, SyntaxError, Value};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(text.len()..text.len());
        SyntaxError::new(format!("invalid TOML: {}", error.message()), span)
    })?;
    let span = table.span();
    Ok(Node { value: map(table.into_inner()), span })
}

fn map(table: DeTable) -> Value {
    let mut entries: Vec<(NodeKey, Node)> = table
        .into_iter()
        .map(|(key, value)| {
            let key = NodeKey { span: key.span(), text: key.into_inner().into_owned() };
            let span = value.span();
            (key, Node { value: node(value.into_inner()), span })
        })
        .collect();
    // The parser sorts by name.
    entries.sort_by_key(|(key, _)| key.span.start);
    Value::Map(entries)
}

fn node(value: DeValue) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Value::Number(number.as_str().to_owned()),
        DeValue::Integer(number) => Value::String(number.to_string()),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .map(|item| {
                    let span = item.span();
                    Node { value: node(item.into_inner()), span }
                })
                .collect(),
        ),
        DeValue::Table(table) => map(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_their_order_and_places() {
        let text = "model = \"x\"\n[mcp_servers.b]\ncommand = \"run\"\n[mcp_servers.a]\nargs = [\"y\", 1.5]\nenabled = false\n";
        let root = parse(text).unwrap();
        let Value::Map(servers) = &root.get("mcp_servers").unwrap().value else { panic!("not a map") };
        let names: Vec<&str> = servers.iter().map(|(key, _)| key.text.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let enabled = servers[1].1.get("enabled").unwrap();
        assert_eq!((&enabled.value, &text[enabled.span.clone()]), (&Value::Bool(false), "false"));
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let error = parse("a = 1\nb = \n").unwrap_err();
        assert!(error.message.starts_with("invalid TOML: "), "{}", error.message);
        assert!(error.span.start >= 6, "{:?}", error.span);
        assert!(parse("a = 1\na = 2\n").unwrap_err().message.contains("duplicate key"));
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(parse(&format!("a = {}", "[".repeat(10_000))).is_err());
    }
}
