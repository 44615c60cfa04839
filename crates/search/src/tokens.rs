//! Estimates the number of tokens of a text. It is an estimate because tokenizers differ and their vocabularies are
//! larger than the proxy. The rules approximate how tokenizers split English and JSON: a short word is one token, a
//! long word several, digits form groups of three and punctuation marks pairs. A text never has more tokens than bytes.

const LETTERS_PER_TOKEN: usize = 7;
const DIGITS_PER_TOKEN: usize = 3;
const MARKS_PER_TOKEN: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Space,
    Letter,
    Digit,
    Mark,
    /// The first byte of a character outside ASCII.
    NonAscii,
    /// A later byte of such a character.
    Continuation,
}

/// The class of each byte of UTF-8.
const CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Mark; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' => CharClass::Space,
            b'a'..=b'z' | b'A'..=b'Z' => CharClass::Letter,
            b'0'..=b'9' => CharClass::Digit,
            0x80..=0xbf => CharClass::Continuation,
            0xc0..=0xff => CharClass::NonAscii,
            _ => CharClass::Mark,
        };
        byte += 1;
    }
    classes
};

/// Counts the tokens of a text byte by byte.
struct TokenCounter {
    class: CharClass,
    /// How many characters of this class stand in a row.
    run: usize,
    /// At this length of the run, the next token begins.
    next: usize,
    tokens: usize,
}

impl TokenCounter {
    fn new() -> Self {
        TokenCounter { class: CharClass::Continuation, run: 0, next: 0, tokens: 0 }
    }

    fn add(&mut self, byte: u8) {
        let class = CLASSES[usize::from(byte)];
        if class == CharClass::Continuation {
            return;
        }
        if class != self.class {
            // A single space belongs to the word after it.
            let next = if class == CharClass::Space { 2 } else { 1 };
            (self.class, self.run, self.next) = (class, 0, next);
        }
        self.run += 1;
        if self.run == self.next {
            self.tokens += 1;
            self.next += match class {
                CharClass::Letter => LETTERS_PER_TOKEN,
                CharClass::Digit => DIGITS_PER_TOKEN,
                CharClass::Mark => MARKS_PER_TOKEN,
                CharClass::NonAscii => 1,
                // All spaces in a row are one token.
                CharClass::Space | CharClass::Continuation => usize::MAX - 2,
            };
        }
    }
}

pub fn estimate_tokens(text: &str) -> usize {
    let mut counter = TokenCounter::new();
    text.bytes().for_each(|byte| counter.add(byte));
    counter.tokens
}

/// The length in bytes of the longest beginning of a text that has at most this many tokens. It ends between characters.
pub fn beginning_of_tokens(text: &str, tokens: usize) -> usize {
    let mut counter = TokenCounter::new();
    for (at, byte) in text.bytes().enumerate() {
        counter.add(byte);
        if counter.tokens > tokens {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_about_words_and_marks() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("list the issues"), 3);
        assert_eq!(estimate_tokens("{\"name\":\"list\"}"), 6);
        assert_eq!(estimate_tokens("internationalization 2026"), 5);
        assert_eq!(estimate_tokens("搜索"), 2);
        assert_eq!(estimate_tokens("a \n\n b"), 3);
        assert_eq!(estimate_tokens("12345678 [[[[[ é"), 3 + 3 + 1);
    }

    #[test]
    fn a_beginning_has_the_tokens_it_is_asked_for_and_ends_between_characters() {
        for text in ["", "list the issues", "{\"name\":\"internationalization\"}", "搜索 äöü", "a\n\n\nb", "123456789"]
        {
            let all = estimate_tokens(text);
            for tokens in 0..=all + 1 {
                let end = beginning_of_tokens(text, tokens);
                assert!(text.is_char_boundary(end), "{text} {tokens}");
                assert!(estimate_tokens(&text[..end]) <= tokens, "{text} {tokens}");
                let next = text[end..].chars().next().map_or(end, |next| end + next.len_utf8());
                assert!(next == end || estimate_tokens(&text[..next]) > tokens, "{text} {tokens}");
            }
            assert!(all <= text.len());
        }
    }
}
