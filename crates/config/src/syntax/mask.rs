//! Masks the secrets in the text of a config file, without moving any other character.

use proxy_base::diagnostic::nearest;

use super::tree::{Node, Span, Value};

/// The keys of addresses, also those of other programs whose configs are imported.
pub(super) const URL_KEYS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

/// Masks the values of `env`, `headers`, `token` and other keys whose names suggest a secret.
pub(crate) fn mask_tree(text: &str, root: &Node) -> String {
    let mut secrets = Vec::new();
    // A file that is not a map is no config file and may contain anything, so all of it is masked.
    let is_secret = !matches!(root.value, Value::Map(_));
    collect(root, is_secret, &mut secrets);
    mask(text, secrets)
}

fn collect(node: &Node, secret: bool, secrets: &mut Vec<Span>) {
    match &node.value {
        Value::Map(entries) => {
            for (key, value) in entries {
                // These members of `auth.tokens` are not secret.
                let is_public = matches!(key.text.as_str(), "sub" | "email" | "groups");
                let hidden = secret
                    || sounds_secret(&key.text)
                    || (URL_KEYS.contains(&key.text.as_str()) && has_credentials(value));
                collect(value, !is_public && hidden, secrets);
            }
        }
        Value::List(items) => {
            let mut after_flag = false;
            for item in items {
                let flag = secret_flag(item);
                let is_address = matches!(&item.value, Value::String(text) if text.contains("://"));
                let hidden = after_flag || flag == SecretFlag::WithValue || (is_address && has_credentials(item));
                collect(item, secret || hidden, secrets);
                after_flag = flag == SecretFlag::BeforeValue;
            }
        }
        _ if secret => secrets.push(node.span.clone()),
        _ => {}
    }
}

/// Whether an address contains a user, a password or a query.
fn has_credentials(value: &Node) -> bool {
    matches!(&value.value, Value::String(text) if is_address_with_credentials(text))
}

/// Whether a text is an address that contains a user, a password or a query.
pub(crate) fn is_address_with_credentials(text: &str) -> bool {
    text.contains(['@', '?'])
}

/// Whether a text was masked.
pub(crate) fn is_masked(text: &str) -> bool {
    let mut characters = text.chars().filter(|character| !character.is_whitespace()).peekable();
    characters.peek().is_some() && characters.all(|character| "*·•🞄".contains(character))
}

/// Whether an argument of a command contains or announces a secret.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SecretFlag {
    None,
    /// The argument contains the value: `--token=abc`.
    WithValue,
    /// The next argument is the value: `--token`.
    BeforeValue,
}

pub(super) fn secret_flag(item: &Node) -> SecretFlag {
    match &item.value {
        Value::String(text) => flag_of(text),
        _ => SecretFlag::None,
    }
}

/// Classifies an argument: `--token`, `--token=abc`, or `API_KEY=abc` for programs that set variables.
pub(crate) fn flag_of(argument: &str) -> SecretFlag {
    match argument.strip_prefix('-') {
        // A header, as of curl.
        Some("H") => SecretFlag::BeforeValue,
        Some(flag) => match flag.split_once(['=', ':']) {
            Some((name, _)) if sounds_secret(name.trim_start_matches('-')) => SecretFlag::WithValue,
            None if sounds_secret(flag.trim_start_matches('-')) => SecretFlag::BeforeValue,
            _ => SecretFlag::None,
        },
        None => match argument.split_once('=') {
            Some((name, _)) if sounds_secret(name) => SecretFlag::WithValue,
            _ => SecretFlag::None,
        },
    }
}

/// Whether the name of a key suggests a secret. Misspelt keys count too, because their values are just as secret.
pub(crate) fn sounds_secret(key: &str) -> bool {
    const WORDS: [&str; 11] = [
        "token",
        "secret",
        "password",
        "passwd",
        "apikey",
        "statekey",
        "credential",
        "cookie",
        "authorization",
        "header",
        "environment",
    ];
    let plain: String = key.to_lowercase().chars().filter(|character| character.is_alphanumeric()).collect();
    // The size of a token bucket, and what a rule of `flow` does.
    if ["maxtokens", "then"].contains(&plain.as_str()) {
        return false;
    }
    // Too short to look for within other words.
    let is_short = ["key", "pat", "pass", "pwd"].contains(&plain.as_str());
    is_short || WORDS.iter().any(|word| plain.contains(word)) || nearest(&plain, ["env", "headers", "token"]).is_some()
}

/// Keys whose values are shown even if the file could not be parsed, because no secret belongs there.
const PUBLIC_KEYS: [&str; 19] = [
    "command",
    "args",
    "cwd",
    "type",
    "scriptFile",
    "preset",
    "paths",
    "workload",
    "filter",
    "exclude",
    "priorityOrder",
    "prefixFormat",
    "conflictResolution",
    "pinned",
    "http",
    "timeout",
    "startTimeout",
    "title",
    "description",
];

/// Masks a text that could not be parsed. Without a tree it is unknown what is secret, so only the leading keys and the
/// punctuation of the lines in `shown` remain visible, which is enough to locate a syntax error; and the values of keys
/// that hold no secrets.
pub(crate) fn mask_lines(text: &str, shown: &Span) -> String {
    let mut secrets = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if end <= shown.start || start > shown.end {
            secrets.push(start..end);
        } else if !is_public(&text[..start], line) {
            let key = leading_key(line);
            let words = line.char_indices().filter(|(index, character)| {
                !(key.contains(index) || character.is_ascii_punctuation() || character.is_whitespace())
            });
            secrets.extend(words.map(|(index, character)| start + index..start + index + character.len_utf8()));
        }
        start = end;
    }
    mask(text, secrets)
}

/// Whether a line belongs to a public key and neither it nor the keys above it suggest a secret. `before` is the text
/// above the line.
fn is_public(before: &str, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    // The line, then the lines that its indentation puts it below.
    let mut enclosing = vec![line];
    let mut least = indent(line);
    for above in before.lines().rev().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        if indent(above) < least {
            least = indent(above);
            enclosing.push(above);
        }
    }
    // A flag on the line above may announce a secret.
    let announced = before.lines().next_back();
    // The key of the line, or that of the list in which it is an item.
    let key_of = |line: &str| line[leading_key(line)].to_owned();
    let key = match key_of(line) {
        none if none.is_empty() && line.trim_start().starts_with('-') => enclosing.get(1).map(|above| key_of(above)),
        own => Some(own),
    };
    // `name: {command: x, args: [y]}`
    let keys = line.split(':').rev().skip(1).map(|part| part.rsplit([' ', '{', ',']).next().unwrap_or_default());
    let keys: Vec<&str> = keys.collect();
    let inner = &keys[..keys.len().saturating_sub(1)];
    let in_braces = line.contains('{') && !inner.is_empty() && inner.iter().all(|key| PUBLIC_KEYS.contains(key));
    let suggests_secret = |line: &&str| {
        line.contains(['@', '?', '=']) && line.contains("://")
            || line
                .split(|character: char| !(character.is_alphanumeric() || "_-".contains(character)))
                .any(sounds_secret)
    };
    (in_braces || key.is_some_and(|key| PUBLIC_KEYS.contains(&key.as_str())))
        && !enclosing.iter().chain(&announced).any(suggests_secret)
}

/// The span of the key at the beginning of a line; empty if the line begins with something else.
fn leading_key(line: &str) -> Span {
    let is_key = |character: char| character.is_alphanumeric() || "_-.".contains(character);
    let start = line.find(|character: char| !(character.is_whitespace() || "-{[,\"'".contains(character)));
    let start = start.unwrap_or(line.len());
    let end = start + line[start..].find(|character| !is_key(character)).unwrap_or(line.len() - start);
    let is_before_colon = line[end..].trim_start_matches(['"', '\'', ' ', '\t']).starts_with(':');
    if is_before_colon { start..end } else { start..start }
}

/// Masks a whole text.
pub(crate) fn mask_all(text: &str) -> String {
    text.chars().map(mask_character).collect()
}

fn mask(text: &str, secrets: Vec<Span>) -> String {
    let mut bytes_hidden = vec![false; text.len()];
    for span in secrets {
        bytes_hidden[span].fill(true);
    }
    text.char_indices()
        .map(|(index, character)| if bytes_hidden[index] { mask_character(character) } else { character })
        .collect()
}

/// A replacement with the same number of bytes, so that all spans remain valid.
fn mask_character(character: char) -> char {
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
    use crate::syntax::tree::parse;

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
    fn a_file_that_is_no_config_and_addresses_with_secrets_are_not_shown() {
        assert!(!masked("GITHUB_TOKEN=s1\n").contains("s1"));
        let shown = masked(
            "a: { url: \"http://u:s1@x/\" }\nb: { url: \"http://x/mcp?key=s2\" }\nc: { url: \"http://x/mcp\" }\n",
        );
        assert!(!shown.contains("s1") && !shown.contains("s2") && shown.contains("http://x/mcp\""), "{shown}");
    }

    #[test]
    fn what_a_rule_does_is_shown() {
        let text = "flow: { rules: [{ when: [secret], then: ask }] }\n";
        assert!(masked(text).contains("then: ask"), "{}", masked(text));
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
    fn of_a_text_that_does_not_parse_only_a_key_and_the_punctuation_are_shown() {
        let text = "a:\n  path: a: b\n  env:\n    KEY: \"s1\n    s2\n  \"headers\": {\"A\": \"s3\n";
        for (wanted, expected) in
            [("path", "  path: *: *"), ("s1", "    KEY: \"**"), ("s2", "    **"), ("s3", "  \"headers\": {\"*\": \"**")]
        {
            let start = text.find(wanted).unwrap();
            let shown = mask_lines(text, &(start..start + 1));
            assert!(shown.lines().any(|line| line == expected), "{shown}");
            let readable = shown.lines().filter(|line| line.contains(char::is_alphabetic)).count();
            assert!(readable <= 1, "{shown}");
        }
    }

    #[test]
    fn of_a_text_that_does_not_parse_the_values_of_public_keys_are_shown() {
        let text = "mcpServers:\n  a:\n    command: @x/y\n    args:\n      - @b\n      - --token @s1\n      - @s3\n    env:\n      command: @s2\n  b: {command: npx, args: [@c]}\n  c: {command: x, env: {K: s4}}\n";
        for (wanted, expected) in [
            ("command: @x", "    command: @x/y"),
            ("@b", "      - @b"),
            ("b: {command", "  b: {command: npx, args: [@c]}"),
            ("c: {command", "  c: {*******: *, ***: {*: **}}"),
            ("@s1", "      - --***** @**"),
            ("@s3", "      - @**"),
            ("command: @s2", "      command: @**"),
        ] {
            let start = text.find(wanted).unwrap();
            let shown = mask_lines(text, &(start..start + 1));
            assert!(shown.lines().any(|line| line == expected), "{expected}\n{shown}");
        }
    }
}
