//! The text of a tool that a model reads: server, name, description and parameters. The built-in model was trained on
//! texts of this form.

use serde_json::{Map, Value};

use crate::tool::Tool;

/// How much of a description is read, in characters: before white space is collapsed, and after.
const MAX_RAW_DESCRIPTION: usize = 1_500;
const MAX_DESCRIPTION: usize = 800;

const MAX_PARAMETERS: usize = 12;

pub(super) fn tool_text(tool: &Tool) -> String {
    let object: Map<String, Value> = serde_json::from_str(tool.definition.raw().get()).unwrap_or_default();
    let description = object.get("description").and_then(Value::as_str).unwrap_or_default();
    let properties = object.get("inputSchema").and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let parameters = properties.into_iter().flatten().map(|(name, _)| name.as_str());
    text_of(&tool.server, tool.definition.key(), description, parameters)
}

fn text_of<'a>(server: &str, name: &str, description: &str, parameters: impl Iterator<Item = &'a str>) -> String {
    let description: String = description.chars().take(MAX_RAW_DESCRIPTION).collect();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description: String = description.chars().take(MAX_DESCRIPTION).collect();
    let parameters: Vec<String> = parameters.take(MAX_PARAMETERS).map(spaced).collect();
    let text = format!("{} {}: {description}", spaced(server), spaced(name));
    if parameters.is_empty() { text } else { format!("{text} ({})", parameters.join(", ")) }
}

/// The words of an identifier, with spaces between them.
fn spaced(identifier: &str) -> String {
    let letters: Vec<char> = identifier.chars().collect();
    let mut words = String::with_capacity(identifier.len() + 8);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map_or(' ', |at| letters[at]);
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        if letter.is_whitespace() || matches!(letter, '_' | '-' | '.' | '/' | ':' | '>') {
            words.push(' ');
            continue;
        }
        let begins_word = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if begins_word {
            words.push(' ');
        }
        words.push(*letter);
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_reads_like_a_sentence() {
        let parameters = ["owner", "pull_number", "perPage"];
        let text = text_of("github", "getPRFiles", " Lists\n the   files. ", parameters.into_iter());
        assert_eq!(text, "github get PR Files: Lists the files. (owner, pull number, per Page)");
        assert_eq!(text_of("", "calculator", "", std::iter::empty()), " calculator: ");
        assert_eq!(spaced("XMLHTTPRequest2Go -> a/b.c:d"), "XMLHTTP Request2 Go a b c d");
        let long = text_of("s", "n", &"wort ".repeat(1_000), ["p"; 40].into_iter());
        assert_eq!(long.chars().count(), "s n: ".len() + MAX_DESCRIPTION + " (".len() + 12 * 3 - 2 + 1);
    }
}
