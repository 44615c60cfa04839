//! Conversion of tool names to names of functions and types.

use std::collections::{HashMap, HashSet};

/// Keywords and reserved words of Starlark.
const RESERVED_WORDS: [&str; 37] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not", "or", "pass",
    "raise", "return", "try", "while", "with", "yield", "None", "True", "False", "data",
];

/// Names of built-in functions in code-mode scripts.
const BUILT_IN_NAMES: [&str; 69] = [
    "abs",
    "all",
    "any",
    "attempt",
    "base64",
    "bool",
    "bytes",
    "call_tool",
    "chr",
    "count_tokens",
    "dict",
    "digest",
    "dir",
    "elicit",
    "enum",
    "enumerate",
    "error",
    "eval_type",
    "fail",
    "field",
    "filter",
    "float",
    "fuzzy",
    "getattr",
    "hasattr",
    "hash",
    "int",
    "isinstance",
    "json",
    "len",
    "list",
    "log",
    "map",
    "math",
    "max",
    "min",
    "namespace",
    "ord",
    "parallel",
    "partial",
    "pow",
    "print",
    "progress",
    "range",
    "re",
    "record",
    "redact",
    "repr",
    "reversed",
    "search_tools",
    "set",
    "sleep",
    "sorted",
    "str",
    "struct",
    "sum",
    "the_script_itself",
    "time",
    "tuple",
    "type",
    "typing",
    "unwrap",
    "url",
    "zip",
    "object",
    "round",
    "next",
    "iter",
    "open",
];

/// Whether a name is a valid Starlark identifier.
pub fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !RESERVED_WORDS.contains(&name)
}

/// The function names for these tools, in the same order. Invalid characters become `_`. `None` for a name that two
/// tools would share, or that is already taken.
pub fn identifiers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Option<String>> {
    let sanitized: Vec<String> = names.map(identifier).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    sanitized.iter().for_each(|name| *uses.entry(name).or_default() += 1);
    let free =
        |name: &String| uses[name.as_str()] == 1 && is_identifier(name) && !BUILT_IN_NAMES.contains(&name.as_str());
    sanitized.iter().map(|name| free(name).then(|| name.clone())).collect()
}

fn identifier(name: &str) -> String {
    let letters = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let sanitized: String = letters.collect();
    if sanitized.starts_with(|first: char| first.is_ascii_digit()) { format!("_{sanitized}") } else { sanitized }
}

/// A tool's name as a function of Python, whose case is kept.
pub(super) fn snake(name: &str) -> String {
    match identifier(name) {
        name if name.trim_matches('_').is_empty() => "tool".to_owned(),
        name => name,
    }
}

/// A set of unique names.
#[derive(Debug, Default)]
pub(super) struct UniqueNames(HashSet<String>);

impl UniqueNames {
    pub(super) fn without(taken: &[&str]) -> Self {
        UniqueNames(taken.iter().map(|name| (*name).to_owned()).collect())
    }

    /// The name, with a number appended if it is already taken.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}{number}"));
        let name = std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !self.0.contains(name));
        let name = name.unwrap_or_default();
        self.0.insert(name.clone());
        name
    }
}

/// `list-open_issues` as `listOpenIssues`.
pub(super) fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let mut letters = pascal.chars();
    // A leading abbreviation becomes lower case as a whole: `URLFetch` is `urlFetch`.
    let capitals = pascal.chars().take_while(char::is_ascii_uppercase).count();
    let lowered = if capitals > 1 && capitals < pascal.len() { capitals - 1 } else { capitals };
    let head: String = letters.by_ref().take(lowered.max(1)).collect();
    head.to_ascii_lowercase() + letters.as_str()
}

/// `list-open_issues` as `ListOpenIssues`.
pub(super) fn pascal(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    match joined.chars().next() {
        None => "Tool".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{joined}"),
        Some(_) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_tools_would_have_is_nobodys() {
        let names = ["search", "a-b", "a.b", "2fa", "for", "print", "données", "a_c"];
        let expected = [Some("search"), None, None, Some("_2fa"), None, None, Some("donn_es"), Some("a_c")];
        assert_eq!(identifiers(names.into_iter()), expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn words_are_joined_with_capitals() {
        assert_eq!(camel("list-open_issues"), "listOpenIssues");
        assert_eq!(camel("URLFetch"), "urlFetch");
        assert_eq!(camel("API"), "api");
        assert_eq!(camel("getX"), "getX");
        assert_eq!(pascal("github.search"), "GithubSearch");
        assert_eq!(pascal("---"), "Tool");
        assert_eq!(pascal("2fa"), "_2fa");
    }
}
