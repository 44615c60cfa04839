//! Which names and URIs may be published.

use crate::model::ItemKind;

/// What the protocol recommends at most.
pub const MAX_NAME: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// Outside of what the protocol recommends, and why: passes only if a backend chose it.
    Odd(String),
    Impossible(&'static str),
}

pub(crate) fn judge(kind: ItemKind, key: &str) -> Verdict {
    if key.is_empty() {
        return Verdict::Impossible("is empty");
    }
    if key.chars().any(char::is_control) {
        return Verdict::Impossible("has control characters");
    }
    let fault = match kind {
        ItemKind::Tool | ItemKind::Prompt if is_plain_name(key) => None,
        ItemKind::Tool | ItemKind::Prompt => {
            Some(format!("letters, digits, `_`, `.` and `-` only, at most {MAX_NAME} of them"))
        }
        ItemKind::Resource => uri_fault(key).map(str::to_owned),
        // A template may leave even the scheme open.
        ItemKind::ResourceTemplate if key.starts_with('{') => brace_fault(key).map(str::to_owned),
        ItemKind::ResourceTemplate => uri_fault(key).or_else(|| brace_fault(key)).map(str::to_owned),
    };
    fault.map_or(Verdict::Good, Verdict::Odd)
}

/// Whether a name is what the protocol recommends.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain)
}

fn uri_fault(uri: &str) -> Option<&'static str> {
    if uri.chars().any(char::is_whitespace) {
        return Some("it has spaces");
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.as_bytes()).unwrap_or_default();
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let valid = scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(letter);
    (!valid).then_some("it has no scheme, such as `notes://today` has")
}

/// What opens must close, and nothing opens twice.
fn brace_fault(template: &str) -> Option<&'static str> {
    let mut open = false;
    for letter in template.chars() {
        match letter {
            '{' if open => return Some("its braces do not match"),
            '}' if !open => return Some("its braces do not match"),
            '{' => open = true,
            '}' => open = false,
            _ => {}
        }
    }
    open.then_some("its braces do not match")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_a_scheme_and_no_spaces() {
        let good = |kind, key| judge(kind, key) == Verdict::Good;
        for uri in ["file:///a", "a+b.c-1:x", "urn:isbn:1", "ui://x/ü"] {
            assert!(good(ItemKind::Resource, uri), "{uri}");
        }
        for uri in ["notes", "/etc/hosts", ":x", "1a:x", "a b:x", "a://b c"] {
            assert!(matches!(judge(ItemKind::Resource, uri), Verdict::Odd(_)), "{uri}");
        }
        assert!(matches!(judge(ItemKind::Resource, "a:\n"), Verdict::Impossible(_)));
        for template in ["notes://{day}", "{+uri}", "x:{a}/{b}", "x:fixed"] {
            assert!(good(ItemKind::ResourceTemplate, template), "{template}");
        }
        for template in ["notes://{day", "x:{{a}}", "x:}", "{day}}", "notes"] {
            assert!(matches!(judge(ItemKind::ResourceTemplate, template), Verdict::Odd(_)), "{template}");
        }
    }
}
