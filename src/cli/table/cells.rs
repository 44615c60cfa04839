//! Text in cells: its width on the screen, and how it is cut and wrapped.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns of the screen a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces behind it.
pub(super) fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

/// Truncates a line to `limit` columns, with an ellipsis.
pub(in crate::cli) fn cut(line: &str, limit: usize) -> String {
    if width(line) <= limit {
        return line.to_owned();
    }
    let (head, _) = split(line, limit.saturating_sub(1));
    format!("{}…", head.trim_end())
}

/// Breaks a text into lines of at most `limit` columns, between words where there are any.
pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while width(rest) > limit.max(1) {
        let (head, _) = split(rest, limit.max(1));
        // A space that follows at once ends the line too.
        let end = if rest[head.len()..].starts_with(' ') { head.len() } else { head.rfind(' ').unwrap_or(head.len()) };
        let end = if end == 0 { head.len() } else { end };
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    lines.push(rest.to_owned());
    lines
}

/// As many characters as fit into `limit` columns, at least one, and the rest.
fn split(text: &str, limit: usize) -> (&str, &str) {
    let mut taken = 0;
    let end = text.char_indices().find(|(at, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > limit && *at > 0
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_wrapped_by_what_it_takes_on_the_screen() {
        assert_eq!(
            [cut("abc", 3), cut("abcd", 3), cut("日本語", 5), cut("日本語", 6)],
            ["abc", "ab…", "日本…", "日本語"]
        );
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("averylongword here", 5), ["avery", "longw", "ord", "here"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
