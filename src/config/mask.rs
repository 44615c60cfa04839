//! The text of a config file as it may be shown: with its secrets blotted out, every other character in its place.

use crate::diagnostic::nearest;

use super::tree::{Node, Span, Value};

/// Blots out what the tree holds under `env`, `headers`, `token` and other keys that sound like secrets.
pub fn mask_tree(text: &str, root: &Node) -> String {
    let mut secrets = Vec::new();
    collect(root, false, &mut secrets);
    mask(text, secrets)
}

fn collect(node: &Node, secret: bool, secrets: &mut Vec<Span>) {
    match &node.value {
        Value::Map(entries) => {
            for (key, value) in entries {
                // The members of `auth.tokens` that are no secrets.
                let open = matches!(key.text.as_str(), "sub" | "email" | "groups");
                collect(value, !open && (secret || sounds_secret(&key.text)), secrets);
            }
        }
        Value::List(items) => {
            let mut after_flag = false;
            for item in items {
                let flag = secret_flag(item);
                collect(item, secret || after_flag || flag == Flag::WithValue, secrets);
                after_flag = flag == Flag::BeforeValue;
            }
        }
        _ if secret => secrets.push(node.span.clone()),
        _ => {}
    }
}

#[derive(PartialEq)]
enum Flag {
    None,
    /// `--token=abc`
    WithValue,
    /// `--token`, and the next argument is its value.
    BeforeValue,
}

fn secret_flag(item: &Node) -> Flag {
    let Value::String(text) = &item.value else { return Flag::None };
    let Some(flag) = text.strip_prefix('-') else { return Flag::None };
    match flag.split_once(['=', ':']) {
        Some((name, _)) if sounds_secret(name.trim_start_matches('-')) => Flag::WithValue,
        None if sounds_secret(flag.trim_start_matches('-')) => Flag::BeforeValue,
        _ => Flag::None,
    }
}

/// Whether what a key holds should rather not be shown. Misspelt keys count: their values are as secret.
fn sounds_secret(key: &str) -> bool {
    const WORDS: [&str; 9] =
        ["token", "secret", "password", "passwd", "apikey", "credential", "cookie", "authorization", "header"];
    let plain: String = key.to_lowercase().chars().filter(|character| character.is_alphanumeric()).collect();
    WORDS.iter().any(|word| plain.contains(word)) || nearest(&plain, ["env", "headers", "token"]).is_some()
}

/// The same for a text that is no tree, by the look of its lines: what follows such a key on its line, and whatever
/// is indented deeper below it.
pub fn mask_lines(text: &str) -> String {
    let mut secrets = Vec::new();
    let mut secret_indent = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if !line.trim().is_empty() && secret_indent.is_some_and(|outer| indent <= outer) {
            secret_indent = None;
        }
        if secret_indent.is_some() {
            let from = line.find(':').map_or(indent, |colon| colon + 1);
            secrets.push(start + from..start + line.len());
        } else if let Some(colon) = secret_colon(line) {
            secret_indent = Some(indent);
            secrets.push(start + colon + 1..start + line.len());
        }
        start += line.len();
    }
    mask(text, secrets)
}

/// The colon after the first key of a line that sounds secret.
fn secret_colon(line: &str) -> Option<usize> {
    line.match_indices([':', '=']).map(|(index, _)| index).find(|&index| {
        let before = line[..index].trim_end_matches(['"', '\'', ' ', '\t']);
        let key = before.rsplit(|character: char| !(character.is_alphanumeric() || "_-".contains(character))).next();
        key.is_some_and(|key| !key.is_empty() && sounds_secret(key))
    })
}

fn mask(text: &str, secrets: Vec<Span>) -> String {
    let mut bytes_hidden = vec![false; text.len()];
    for span in secrets {
        bytes_hidden[span].fill(true);
    }
    text.char_indices()
        .map(|(index, character)| if bytes_hidden[index] { blot(character) } else { character })
        .collect()
}

/// As many bytes as the character has, so that every place in the text stays where it is.
fn blot(character: char) -> char {
    match character.len_utf8() {
        _ if character.is_whitespace() => character,
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🞄',
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::tree::parse;

    fn masked(text: &str) -> String {
        mask_tree(text, &parse(Path::new("proxy.yaml"), text).unwrap())
    }

    #[test]
    fn values_of_env_headers_and_tokens_are_blotted_out() {
        let text = "a: { env: { KEY: sé1 }, command: npx }\nauth: { tokens: [ { token: s2, sub: ann } ] }\n";
        let shown = masked(text);
        assert_eq!(shown, "a: { env: { KEY: *·* }, command: npx }\nauth: { tokens: [ { token: **, sub: ann } ] }\n");
        assert_eq!(shown.len(), text.len());
    }

    #[test]
    fn misspelt_and_foreign_keys_hide_their_values_too() {
        let shown = masked("haeders: { A: s1 }\nenvs: [s2]\napi_key: s3\nargs: [--api-key, s4, --token=s5, -y, x]\n");
        for secret in ["s1", "s2", "s3", "s4", "s5"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("-y, x"), "{shown}");
    }

    #[test]
    fn a_text_that_does_not_parse_hides_them_by_its_lines() {
        let text = "a:\n  command: npx\n  env:\n    KEY: \"s1\n    s2\n  cwd: here\n  \"headers\": {\"A\": \"s3\n";
        let shown = mask_lines(text);
        for secret in ["s1", "s2", "s3"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(shown.contains("command: npx") && shown.contains("cwd: here") && shown.contains("KEY:"), "{shown}");
    }
}
