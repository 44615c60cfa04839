//! Which calls `proxy calls --filter` shows.

use glob::Pattern;

use crate::admin::CallSummary;
use proxy_base::diagnostic::nearest;

const KEYS: [&str; 8] = ["server", "name", "tool", "user", "client", "method", "outcome", "ms"];
const OUTCOMES: [&str; 8] = ["ok", "tool_error", "error", "refused", "timeout", "failed", "asked", "cancelled"];

/// One condition on a call.
#[derive(Clone, Debug)]
pub(super) enum CallFilter {
    /// A text of the call matches a pattern.
    Text {
        key: &'static str,
        pattern: Pattern,
    },
    LongerThan(f64),
    ShorterThan(f64),
}

/// Reads `KEY=PATTERN`, `ms>NUMBER` or `ms<NUMBER`.
pub(super) fn parse(text: &str) -> Result<CallFilter, String> {
    let Some(at) = text.find(['=', '>', '<']) else {
        return Err("write it as KEY=VALUE, such as `server=github` or `ms>500`".to_owned());
    };
    let (key, value) = (text[..at].trim(), text[at + 1..].trim());
    let Some(known) = KEYS.into_iter().find(|known| *known == key) else {
        let near = nearest(key, KEYS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("unknown key `{key}` (known: {}){near}", KEYS.join(", ")));
    };
    match (known, &text[at..=at]) {
        ("ms", "=") => Err("compare the duration with `ms>NUMBER` or `ms<NUMBER`".to_owned()),
        ("ms", sign) => {
            let number = value.trim_end_matches("ms").trim_end();
            let number = number.parse().map_err(|_| format!("`{value}` is not a number of milliseconds"))?;
            Ok(if sign == ">" { CallFilter::LongerThan(number) } else { CallFilter::ShorterThan(number) })
        }
        (key, "=") => {
            let pattern = Pattern::new(value).map_err(|error| format!("invalid pattern `{value}`: {error}"))?;
            if key == "outcome" && !OUTCOMES.iter().any(|outcome| pattern.matches(outcome)) {
                return Err(format!("unknown outcome `{value}` (known: {})", OUTCOMES.join(", ")));
            }
            Ok(CallFilter::Text { key, pattern })
        }
        (key, _) => Err(format!("only `ms` can be compared: write `{key}={value}`")),
    }
}

impl CallFilter {
    pub(super) fn matches(&self, call: &CallSummary) -> bool {
        match self {
            CallFilter::LongerThan(ms) => call.ms > *ms,
            CallFilter::ShorterThan(ms) => call.ms < *ms,
            CallFilter::Text { key: "server", pattern } => {
                let called = call.server_calls.iter().map(|call| call.server.as_str());
                call.server.as_deref().into_iter().chain(called).any(|server| pattern.matches(server))
            }
            CallFilter::Text { key, pattern } => pattern.matches(match *key {
                "user" => &call.user,
                "client" => &call.client,
                "method" => &call.method,
                "outcome" => &call.outcome,
                _ => call.name.as_deref().unwrap_or_default(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> CallSummary {
        serde_json::from_value(json!({
            "id": "1", "at": "", "method": "tools/call", "name": "new_issue", "server": null, "user": "ann",
            "client": "Claude 2", "source": "http", "outcome": "refused", "error": null, "refusal": null, "ms": 41.5,
            "bytesIn": 0, "bytesOut": 0, "moreServerCalls": 0,
            "serverCalls": [{"server": "github", "method": "tools/call", "outcome": "ok", "error": null, "ms": 40.0}],
        }))
        .unwrap()
    }

    #[test]
    fn conditions_are_patterns_and_times() {
        for (text, expected) in [
            ("server=github", true),
            ("server=git*", true),
            ("server=gitlab", false),
            ("tool=new_issue", true),
            ("name=new_*", true),
            ("user=bob", false),
            ("client=Claude*", true),
            ("method=tools/*", true),
            ("outcome=refused", true),
            ("ms>41", true),
            ("ms > 50ms", false),
            ("ms<50", true),
        ] {
            assert_eq!(parse(text).unwrap().matches(&call()), expected, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_cure() {
        for (text, part) in [
            ("github", "write it as KEY=VALUE"),
            ("sever=github", "did you mean `server`?"),
            ("ms=5", "`ms>NUMBER`"),
            ("ms>fast", "`fast` is not a number"),
            ("user>ann", "write `user=ann`"),
            ("user=[", "invalid pattern"),
            ("outcome=bogus", "unknown outcome `bogus` (known: ok, "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
