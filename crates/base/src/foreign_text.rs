//! Makes untrusted text safe to show to people: in elicitations, on the terminal, in logs.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex};

/// Characters that people do not see, or that change how they see others: control and format characters (among them those
/// that reverse the direction of text), separators of lines and paragraphs, and characters that are not displayed. A line
/// feed and a tab are harmless, and so are the two selectors that follow emoji.
const HIDDEN: &str = r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t\x{FE0E}\x{FE0F}]]";

/// The text with every hidden character written as an escape such as `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |hidden| hidden.escape_unicode().to_string())
}

/// The text with every hidden character replaced.
fn replaced<'t>(text: &'t str, escape: impl Fn(&str) -> String) -> Cow<'t, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.into();
    }
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    match PATTERN.get_or_init(|| Regex::new(HIDDEN).ok()) {
        Some(pattern) => pattern.replace_all(text, |hidden: &Captures<'_>| escape(&hidden[0])),
        // Cannot happen, as the test shows. Then everything that is not printable ASCII is escaped.
        None => {
            text.chars()
                .map(|letter| {
                    if matches!(letter, ' '..='~') {
                        letter.to_string()
                    } else {
                        escape(letter.encode_utf8(&mut [0; 4]))
                    }
                })
                .collect()
        }
    }
}

/// JSON with every hidden character written as an escape such as `\u202e`, which means the same.
pub fn json_visible(json: &str) -> Cow<'_, str> {
    replaced(json, |hidden| {
        let mut units = [0; 2];
        hidden
            .chars()
            .flat_map(|letter| letter.encode_utf16(&mut units).to_vec())
            .map(|unit| format!("\\u{unit:04x}"))
            .collect()
    })
}

/// Whether a text has hidden characters.
pub fn has_hidden(text: &str) -> bool {
    matches!(visible(text), Cow::Owned(_))
}

/// The beginning of an untrusted text, quoted in backticks.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 200;
    let short: String = text.chars().take(LONGEST).collect();
    format!("`{}`", visible(&short).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_out() {
        for (text, seen) in [
            ("a\u{202e}b", r"a\u{202e}b"),
            ("pay\u{200b}pal\u{2066}", r"pay\u{200b}pal\u{2066}"),
            ("\u{1b}[2J\r\u{0}\u{85}", r"\u{1b}[2J\u{d}\u{0}\u{85}"),
            ("\u{feff}\u{ad}\u{2028}\u{3164}", r"\u{feff}\u{ad}\u{2028}\u{3164}"),
            ("\u{e0041}\u{e0100}", r"\u{e0041}\u{e0100}"),
        ] {
            assert_eq!(visible(text), seen);
        }
    }

    #[test]
    fn json_means_the_same_when_hidden_characters_are_written_out() {
        let text = "\"a\u{202e}b\u{e0041}é\"";
        let seen = json_visible(text);
        assert_eq!(seen, r#""a\u202eb\udb40\udc41é""#);
        assert_eq!(serde_json::from_str::<String>(&seen).unwrap(), serde_json::from_str::<String>(text).unwrap());
    }

    #[test]
    fn what_people_see_stays_as_it_is() {
        for text in ["", "two\n\tlines", "Grüße, 日本語, שלום, مرحبا", "❤\u{fe0f} 👍🏽", "e\u{301}"]
        {
            assert_eq!(visible(text), text);
        }
    }
}
