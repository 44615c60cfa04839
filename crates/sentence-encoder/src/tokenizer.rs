//! Splits text into the tokens of the model: BERT's uncased WordPiece.

use std::collections::HashMap;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::packed::ModelError;

const UNKNOWN: u32 = 100;
/// The first and the last token of every text.
const BEGIN: u32 = 101;
const END: u32 = 102;

/// The number of tokens that the model reads, with the first and the last one.
pub(crate) const MAX_TOKENS: usize = 256;

/// The number of tokens in the vocabulary.
pub(crate) const VOCABULARY: usize = 30_522;

/// Longer words are unknown.
const MAX_WORD_LENGTH: usize = 100;

pub(crate) struct WordPieces {
    /// Tokens that begin a word.
    beginnings: HashMap<&'static str, u32>,
    /// Tokens that continue a word.
    continuations: HashMap<&'static str, u32>,
}

impl WordPieces {
    pub(crate) fn new(vocabulary: &'static str) -> Result<Self, ModelError> {
        check(vocabulary)?;
        let mut pieces =
            WordPieces { beginnings: HashMap::with_capacity(VOCABULARY), continuations: HashMap::with_capacity(8_192) };
        for (token, number) in vocabulary.lines().zip(0..) {
            match token.strip_prefix("##").filter(|rest| !rest.is_empty()) {
                Some(rest) => pieces.continuations.insert(rest, number),
                None => pieces.beginnings.insert(token, number),
            };
        }
        Ok(pieces)
    }

    /// The tokens of a text, as many as the model reads.
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = vec![BEGIN];
        for word in words(text) {
            self.split(&word, &mut tokens);
            if tokens.len() >= MAX_TOKENS {
                tokens.truncate(MAX_TOKENS - 1);
                break;
            }
        }
        tokens.push(END);
        tokens
    }

    /// Appends the tokens of a word: at each place the longest that fits.
    fn split(&self, word: &str, tokens: &mut Vec<u32>) {
        let before = tokens.len();
        let mut rest = word;
        if word.chars().count() > MAX_WORD_LENGTH {
            tokens.push(UNKNOWN);
            return;
        }
        while !rest.is_empty() {
            let known = if tokens.len() == before { &self.beginnings } else { &self.continuations };
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| known.get(&rest[..end]).map(|token| (*token, end)));
            let Some((token, end)) = longest else {
                tokens.truncate(before);
                tokens.push(UNKNOWN);
                return;
            };
            tokens.push(token);
            rest = &rest[end..];
        }
    }
}

/// Whether the model knows too little of a text to compare it: other scripts, or emoji.
pub(crate) fn is_mostly_unknown(tokens: &[u32]) -> bool {
    let unknown = tokens.iter().filter(|token| **token == UNKNOWN).count();
    unknown * 2 > tokens.len().saturating_sub(2)
}

/// Checks that the vocabulary is whole.
pub(crate) fn check(vocabulary: &str) -> Result<(), ModelError> {
    let count = vocabulary.bytes().filter(|byte| *byte == b'\n').count();
    if count == VOCABULARY {
        return Ok(());
    }
    Err(ModelError(format!("{count} tokens instead of {VOCABULARY}")))
}

/// The words of a text, in lower case and without accents. Punctuation marks and ideographs are words of their own.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(is_space).flat_map(|part| {
        let cleaned = part.chars().filter(|letter| !is_dropped(*letter)).flat_map(|letter| {
            let space = is_ideograph(letter).then_some(' ');
            space.into_iter().chain([letter]).chain(space)
        });
        let plain: String =
            cleaned.nfd().filter(|letter| get_general_category(*letter) != GeneralCategory::NonspacingMark).collect();
        let mut spaced = String::with_capacity(plain.len() + 8);
        for letter in plain.to_lowercase().chars() {
            if is_punctuation(letter) {
                spaced.extend([' ', letter, ' ']);
            } else {
                spaced.push(letter);
            }
        }
        spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    })
}

/// White space that is no control character, apart from the usual ones. Other control characters separate no words.
fn is_space(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r') || (letter.is_whitespace() && !letter.is_control())
}

/// Control characters and what cannot be displayed.
fn is_dropped(letter: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse, Surrogate, Unassigned};
    letter == '\u{fffd}'
        || matches!(get_general_category(letter), Control | Format | PrivateUse | Surrogate | Unassigned)
}

fn is_punctuation(letter: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation, OpenPunctuation,
        OtherPunctuation,
    };
    letter.is_ascii_punctuation()
        || (!letter.is_ascii()
            && matches!(
                get_general_category(letter),
                ClosePunctuation
                    | ConnectorPunctuation
                    | DashPunctuation
                    | FinalPunctuation
                    | InitialPunctuation
                    | OpenPunctuation
                    | OtherPunctuation
            ))
}

fn is_ideograph(letter: char) -> bool {
    matches!(u32::from(letter),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}
