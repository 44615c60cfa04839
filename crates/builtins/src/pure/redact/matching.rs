//! Helpers that the detectors share.

use std::ops::Range;

use regex::Regex;

/// Returns whether a range is not part of a longer word or number.
pub(super) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

/// Compiles a constant pattern.
#[expect(clippy::expect_used, reason = "the pattern is a constant that a test compiles")]
pub(super) fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}
