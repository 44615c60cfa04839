//! Splits text into words: at every character that is neither letter nor digit and inside `camelCase`, `snake_case` and
//! `v2`; in lower case, without stop words, reduced to English stems.

use tantivy::tokenizer::{
    Language, RemoveLongFilter, Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// Words without information about the purpose of a tool. Verbs of requests (`get`, `find`, `list`) are not included,
/// because tool names contain them.
const STOP_WORDS: &str = "a about also am an and any are as at be been but by can could did do does for from had has have \
    help how i id if im in into is it its ive just let like ll may me might my need no not of on or our please re s \
    should so some such than that the their them then there these they this those to up us using ve via want was we \
    were what when where which while who will with would you your";

/// Longer words are dropped as identifiers or noise.
const MAX_WORD_LENGTH: usize = 64;

/// The analyzer of queries and definitions. Used by one thread at a time.
pub(crate) struct WordAnalyzer(TextAnalyzer);

impl WordAnalyzer {
    pub(crate) fn new() -> Self {
        let stop_words = STOP_WORDS.split_whitespace().map(str::to_owned);
        let chain = TextAnalyzer::builder(Splitter)
            .filter(RemoveLongFilter::limit(MAX_WORD_LENGTH))
            .filter(StopWordFilter::remove(stop_words))
            .filter(Stemmer::new(Language::English));
        WordAnalyzer(chain.build())
    }

    /// Calls `visit` for each word with its stem and its range in the text.
    pub(crate) fn each(&mut self, text: &str, mut visit: impl FnMut(&str, std::ops::Range<usize>)) {
        let mut stream = self.0.token_stream(text);
        while stream.advance() {
            let token = stream.token();
            visit(&token.text, token.offset_from..token.offset_to);
        }
    }

    #[cfg(test)]
    pub(crate) fn stems(&mut self, text: &str) -> Vec<String> {
        let mut stems = Vec::new();
        self.each(text, |stem, _| stems.push(stem.to_owned()));
        stems
    }
}

/// Splits a text into sentences.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut last = ' ';
    text.split_inclusive(move |letter: char| {
        let ends = letter == '\n' || (letter.is_whitespace() && matches!(last, '.' | '!' | '?' | ';'));
        last = letter;
        ends
    })
}

#[derive(Clone)]
struct Splitter;

struct WordStream {
    /// In reverse order.
    pieces: Vec<Token>,
    token: Token,
}

impl Tokenizer for Splitter {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        let mut pieces = split(text);
        pieces.reverse();
        WordStream { pieces, token: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        match self.pieces.pop() {
            Some(piece) => {
                self.token = piece;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The words of a text in lower case.
fn split(text: &str) -> Vec<Token> {
    let mut words = Vec::new();
    let mut word = Token::default();
    let mut letters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let after = letters.peek().map_or(' ', |(_, letter)| *letter);
        let end = at + letter.len_utf8();
        if is_ideograph(letter) {
            finish(&mut word, &mut words);
            if is_ideograph(after) {
                push(&mut words, format!("{letter}{after}"), at..end + after.len_utf8());
            } else if !is_ideograph(before) {
                push(&mut words, letter.to_string(), at..end);
            }
        } else if letter.is_alphanumeric() {
            if begins_word(before, letter, after) {
                finish(&mut word, &mut words);
            }
            if word.text.is_empty() {
                word.offset_from = at;
            }
            word.text.extend(letter.to_lowercase());
            word.offset_to = end;
        } else if !matches!(letter, '\'' | '’') || matches!(after, 's' | 'S') {
            finish(&mut word, &mut words);
        }
        before = letter;
    }
    finish(&mut word, &mut words);
    words
}

fn finish(word: &mut Token, words: &mut Vec<Token>) {
    if !word.text.is_empty() {
        let text = std::mem::take(&mut word.text);
        push(words, text, word.offset_from..word.offset_to);
    }
}

fn push(words: &mut Vec<Token>, text: String, at: std::ops::Range<usize>) {
    words.push(Token { offset_from: at.start, offset_to: at.end, position: words.len(), text, position_length: 1 });
}

fn begins_word(before: char, letter: char, after: char) -> bool {
    if letter.is_uppercase() {
        before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && after.is_lowercase())
    } else if letter.is_numeric() {
        before.is_alphabetic()
    } else {
        before.is_numeric()
    }
}

/// Chinese, Japanese and Korean have no spaces between words, so pairs of adjacent characters serve as words.
fn is_ideograph(letter: char) -> bool {
    u32::from(letter) >= 0x2E80 && letter.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_case_digits_and_punctuation() {
        let stems = |text| WordAnalyzer::new().stems(text);
        assert_eq!(stems("createPullRequest"), ["creat", "pull", "request"]);
        assert_eq!(stems("list_open-issues.v2"), ["list", "open", "issu", "v", "2"]);
        assert_eq!(stems("HTTPServer parseURL"), ["http", "server", "pars", "url"]);
        assert_eq!(stems("Please get the user's Größe"), ["get", "user", "größe"]);
        assert_eq!(stems("搜索关键词 a"), ["搜索", "索关", "关键", "键词"]);
        assert_eq!(stems("\u{0}\u{1b}[31m ... '' ’s"), ["31", "m"]);
    }

    #[test]
    fn a_sentence_ends_at_its_mark_not_at_a_decimal_point() {
        let parts: Vec<&str> = sentences("Find 2.5 km. Then book it! Now\nand here").map(str::trim).collect();
        assert_eq!(parts, ["Find 2.5 km.", "Then book it!", "Now", "and here"]);
    }
}
