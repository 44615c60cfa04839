//! Keys, tokens and passwords, recognised by their common shapes.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::matching::pattern;

/// Prefixes by which services mark their tokens, and the minimum length of what follows.
const TOKEN_PREFIXES: [(&str, usize); 29] = [
    ("sk-", 20),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("pk_live_", 10),
    ("whsec_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 35),
    ("npm_", 36),
    ("pypi-", 16),
    ("hf_", 30),
    ("dop_v1_", 32),
    ("SG.", 40),
];

/// All secrets in a text, in order and without overlaps.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    found.extend(tokens(text));
    found.extend(assigned(text));
    found.extend(in_urls(text));
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    // Merge overlapping matches into one.
    found.dedup_by(|next, previous| {
        let overlaps = next.start < previous.end;
        if overlaps {
            previous.end = previous.end.max(next.end);
        }
        overlaps
    });
    found
}

/// Words of token characters that are tokens.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let mut at = 0;
    text.split(move |letter: char| !is_part(letter)).filter_map(move |word| {
        let start = text.get(at..)?.find(word).map(|skipped| at + skipped)?;
        at = start + word.len();
        let word = word.trim_end_matches(['.', '-']);
        is_token(word).then(|| start..start + word.len())
    })
}

fn is_token(word: &str) -> bool {
    let has_prefix =
        TOKEN_PREFIXES.iter().any(|(prefix, min)| word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *min));
    has_prefix || is_jwt(word)
}

/// Returns whether a word is a JSON Web Token: three parts, of which the first two are base64-encoded objects.
fn is_jwt(word: &str) -> bool {
    let mut parts = word.split('.');
    let object = |part: Option<&str>| part.is_some_and(|part| part.starts_with("eyJ") && part.len() > 10);
    object(parts.next()) && object(parts.next()) && parts.next().is_some() && parts.next().is_none()
}

/// Values assigned to a telling name: `password=...`, `"api_key": "..."`, `Authorization: Bearer ...`.
fn assigned(text: &str) -> Vec<Range<usize>> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"(?i)(?:passwd|password|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?|\bbearer\s{1,4}"#,
        )
    });
    let value = |from: usize| {
        let rest = &text[from..];
        let is_end = |letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | ',' | ';' | '&' | '<' | '>' | '\\' | ')' | '}')
        };
        from..from + rest.find(is_end).unwrap_or(rest.len())
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    for name in NAME.find_iter(text) {
        // A name inside a value that was already found is part of that value.
        if found.last().is_some_and(|last| name.start() < last.end) {
            continue;
        }
        let range = value(name.end());
        if looks_random(&text[range.clone()]) {
            found.push(range);
        }
    }
    found
}

/// Returns whether a value has digits or symbols: plain words are rarely secrets.
fn looks_random(value: &str) -> bool {
    value.len() >= 6
        && !value.starts_with(['[', '$', '{', '*'])
        && value.chars().any(|letter| !letter.is_alphabetic() && letter != '.')
}

/// Passwords in URLs: `scheme://user:password@host`.
fn in_urls(text: &str) -> Vec<Range<usize>> {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^\s/:@\[]{0,64}:([^\s/@]{1,128})@"));
    SHAPE.captures_iter(text).filter_map(|found| Some(found.get(1)?.range())).collect()
}

/// PEM-encoded private keys, up to the END line or the end of the text.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| pattern("-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY-----"));
    let mut found: Vec<Range<usize>> = Vec::new();
    for head in HEAD.find_iter(text) {
        if found.last().is_some_and(|last| head.start() < last.end) {
            continue;
        }
        let end = text[head.end()..].find("-----END ").map_or(text.len(), |skipped| {
            let tail = head.end() + skipped + "-----END ".len();
            text[tail..].find("-----").map_or(text.len(), |close| tail + close + "-----".len())
        });
        found.push(head.start()..end);
    }
    found
}
