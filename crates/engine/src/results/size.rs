//! The size of a text: in tokens, and in bytes, by which some clients estimate tokens.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use proxy_search::{beginning_of_tokens, estimate_tokens};

/// The tokens of the note behind a page, about, and its bytes.
const NOTE: TextSize = TextSize { tokens: 100, bytes: 400 };

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSize {
    pub tokens: usize,
    pub bytes: usize,
}

impl TextSize {
    /// A limit for tokens alone.
    pub fn tokens(tokens: usize) -> Self {
        TextSize { tokens, bytes: usize::MAX }
    }

    pub(super) fn of(text: &str) -> Self {
        TextSize { tokens: estimate_tokens(text), bytes: text.len() }
    }

    pub(super) fn is_within(self, limit: TextSize) -> bool {
        self.tokens <= limit.tokens && self.bytes <= limit.bytes
    }

    /// The smallest number of bytes that can be above this limit. A text never has more tokens than bytes.
    pub(crate) fn smallest_bytes(self) -> usize {
        self.tokens.min(self.bytes)
    }

    /// The length of the longest beginning of a text that is within this limit. It ends between characters.
    pub(super) fn beginning_of(self, text: &str) -> usize {
        let within_bytes = &text[..text.floor_char_boundary(self.bytes)];
        beginning_of_tokens(within_bytes, self.tokens)
    }

    /// The size of a page, so that the page and its note are within this limit.
    pub(super) fn of_page(self) -> Self {
        let less = |limit: usize, note: usize| if limit >= 4 * note { limit - note } else { limit * 3 / 4 };
        TextSize { tokens: less(self.tokens, NOTE.tokens), bytes: less(self.bytes, NOTE.bytes) }
    }
}

impl Add for TextSize {
    type Output = TextSize;

    fn add(self, other: TextSize) -> TextSize {
        TextSize { tokens: self.tokens + other.tokens, bytes: self.bytes + other.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_measure_limits_a_text() {
        let text = "internationalization ".repeat(100);
        let limit = TextSize { tokens: 1000, bytes: 200 };
        assert!(!TextSize::of(&text).is_within(limit));
        assert_eq!(limit.beginning_of(&text), 200);
        assert_eq!(TextSize { tokens: 3, bytes: 200 }.beginning_of(&text), "internationalization ".len());
        assert_eq!(TextSize { tokens: 10, bytes: 3 }.beginning_of("äöü"), 2);
        assert_eq!(TextSize::tokens(1000).beginning_of(&text), text.len());
    }
}
