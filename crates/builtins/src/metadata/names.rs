//! The names and URIs that may be published.

use proxy_model::ItemKind;

/// The maximum length of a tool name that the protocol recommends.
pub const MAX_NAME: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameVerdict {
    Good,
    /// Not what the protocol recommends, with the reason. Allowed only for the name that a backend chose.
    Discouraged(String),
    /// Never allowed, with the reason.
    Invalid(&'static str),
}

/// Checks the name or URI of an item.
pub(crate) fn check_name(kind: ItemKind, key: &str) -> NameVerdict {
    if key.is_empty() {
        return NameVerdict::Invalid("is empty");
    }
    if key.chars().any(char::is_control) {
        return NameVerdict::Invalid("contains control characters");
    }
    let fault = match kind {
        ItemKind::Tool | ItemKind::Prompt if is_plain_name(key) => None,
        ItemKind::Tool | ItemKind::Prompt => {
            Some(format!("only ASCII letters, digits, `_`, `.` and `-` are allowed, at most {MAX_NAME} characters"))
        }
        ItemKind::Resource => uri_fault(key).map(str::to_owned),
        // The scheme of a template may be a variable.
        ItemKind::ResourceTemplate if key.starts_with('{') => brace_fault(key).map(str::to_owned),
        ItemKind::ResourceTemplate => uri_fault(key).or_else(|| brace_fault(key)).map(str::to_owned),
    };
    fault.map_or(NameVerdict::Good, NameVerdict::Discouraged)
}

/// Returns whether a name is one that the protocol recommends.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain)
}

fn uri_fault(uri: &str) -> Option<&'static str> {
    if uri.chars().any(char::is_whitespace) {
        return Some("it contains white space");
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.as_bytes()).unwrap_or_default();
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let valid = scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(letter);
    (!valid).then_some("it has no scheme such as `notes:` in `notes://today`")
}

/// Checks that braces are balanced and not nested.
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
        let good = |kind, key| check_name(kind, key) == NameVerdict::Good;
        for uri in ["file:///a", "a+b.c-1:x", "urn:isbn:1", "ui://x/ü"] {
            assert!(good(ItemKind::Resource, uri), "{uri}");
        }
        for uri in ["notes", "/etc/hosts", ":x", "1a:x", "a b:x", "a://b c"] {
            assert!(matches!(check_name(ItemKind::Resource, uri), NameVerdict::Discouraged(_)), "{uri}");
        }
        assert!(matches!(check_name(ItemKind::Resource, "a:\n"), NameVerdict::Invalid(_)));
        for template in ["notes://{day}", "{+uri}", "x:{a}/{b}", "x:fixed"] {
            assert!(good(ItemKind::ResourceTemplate, template), "{template}");
        }
        for template in ["notes://{day", "x:{{a}}", "x:}", "{day}}", "notes"] {
            assert!(
                matches!(check_name(ItemKind::ResourceTemplate, template), NameVerdict::Discouraged(_)),
                "{template}"
            );
        }
    }
}
