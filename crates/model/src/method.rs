//! Method names: those of MCP itself, and patterns for vendor methods.

/// The first segment of all methods that MCP defines or reserves.
const FAMILIES: [&str; 12] = [
    "server",
    "tools",
    "resources",
    "prompts",
    "completion",
    "logging",
    "sampling",
    "elicitation",
    "roots",
    "tasks",
    "subscriptions",
    "rpc",
];

/// The notifications of MCP without such a segment.
const NOTIFICATIONS: [&str; 4] = ["cancelled", "initialized", "progress", "message"];

/// Whether a method belongs to MCP itself. The proxy handles such methods and never forwards them unread.
pub fn is_protocol_method(method: &str) -> bool {
    if let Some(rest) = method.strip_prefix("notifications/") {
        return NOTIFICATIONS.contains(&rest) || FAMILIES.contains(&family(rest));
    }
    matches!(method, "initialize" | "ping") || FAMILIES.contains(&family(method)) || method.starts_with("rpc.")
}

fn family(method: &str) -> &str {
    method.split('/').next().unwrap_or_default()
}

/// A method (`vendor/search`), or all methods with a prefix (`vendor/*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodPattern {
    text: String,
    is_prefix: bool,
}

impl MethodPattern {
    /// Parses a pattern. Fails with a description of the problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (stem, is_prefix) = text.strip_suffix('*').map_or((text, false), |stem| (stem, true));
        if stem.is_empty() || !stem.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("expected the name of a method, such as `vendor/search` or `vendor/*`".to_owned());
        }
        if stem.contains('*') || (is_prefix && !stem.ends_with('/')) {
            return Err("`*` is allowed only at the end, after a `/`".to_owned());
        }
        if stem == "notifications/" || is_protocol_method(stem.trim_end_matches('/')) {
            return Err("this method belongs to the protocol itself and cannot be assigned to a server".to_owned());
        }
        Ok(MethodPattern { text: stem.to_owned(), is_prefix })
    }

    /// The specificity of a match: the length of the prefix, or the maximum for an exact name. `None` without a match.
    pub fn fit(&self, method: &str) -> Option<usize> {
        match self.is_prefix {
            true => (method.len() > self.text.len() && method.starts_with(&self.text)).then_some(self.text.len()),
            false => (method == self.text).then_some(usize::MAX),
        }
    }
}

impl std::fmt::Display for MethodPattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

/// The capability of servers that a method belongs to.
pub fn capability_of(method: &str) -> Option<&'static str> {
    Some(match method.split('/').next()? {
        "tools" => "tools",
        "resources" => "resources",
        "prompts" => "prompts",
        "completion" => "completions",
        "logging" => "logging",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_has_is_its_own() {
        for method in ["initialize", "ping", "tools/call", "tools/later", "tasks/get", "notifications/progress"] {
            assert!(is_protocol_method(method), "{method}");
        }
        for method in ["notifications/tools/list_changed", "notifications/elicitation/complete", "rpc.discover"] {
            assert!(is_protocol_method(method), "{method}");
        }
        for method in ["vendor/x", "pings", "toolsmith/x", "notifications/vendor/x", ""] {
            assert!(!is_protocol_method(method), "{method}");
        }
    }

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        let fit = |pattern: &str, method: &str| MethodPattern::parse(pattern).unwrap().fit(method);
        assert_eq!(fit("vendor/*", "vendor/a/b"), Some(7));
        assert_eq!(fit("vendor/*", "vendor/"), None);
        assert_eq!(fit("vendor/a", "vendor/a"), Some(usize::MAX));
        assert_eq!(fit("vendor/a", "vendor/ab"), None);
        for wrong in ["", "*", "vendor*", "v*/x", "tools/*", "tools/call", "notifications/*", "a b", "é", "ping"] {
            assert!(MethodPattern::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(MethodPattern::parse("notifications/vendor/*").unwrap().to_string(), "notifications/vendor/*");
    }
}
