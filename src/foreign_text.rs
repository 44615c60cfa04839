//! Makes text of others harmless where people read it: in questions, on the terminal, in logs.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex};

/// Characters that people do not see, or that change how they see others: control and format characters (among them those
/// that reverse the direction of text), separators of lines and paragraphs, and characters that are not displayed. A line
/// feed and a tab are harmless, and so are the two selectors that follow emoji.
const HIDDEN: &str = r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t\x{FE0E}\x{FE0F}]]";

/// The text with every hidden character written as an escape such as `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.into();
    }
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    match PATTERN.get_or_init(|| Regex::new(HIDDEN).ok()) {
        Some(pattern) => pattern.replace_all(text, |hidden: &Captures<'_>| hidden[0].escape_unicode().to_string()),
        // Cannot happen, as the test shows. Then everything that is not printable ASCII is escaped.
        None => text.escape_default().to_string().into(),
    }
}

/// The beginning of a text of others, in the backticks of our own texts.
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
    fn what_people_see_stays_as_it_is() {
        for text in ["", "two\n\tlines", "Grüße, 日本語, שלום, مرحبا", "❤\u{fe0f} 👍🏽", "e\u{301}"]
        {
            assert_eq!(visible(text), text);
        }
    }
}
