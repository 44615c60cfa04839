//! Parses a query into the words that the index knows. A query is plain text without any syntax.

use std::collections::HashMap;

use strsim::osa_distance;

use super::vocabulary::Vocabulary;
use super::word_analyzer::{WordAnalyzer, sentences};
use crate::weights::{QUERY_REPEAT_EXPONENT, TYPO_WEIGHT};

/// Maximum length of a query in bytes; the rest is ignored.
const MAX_TEXT: usize = 16 << 10;

/// Maximum number of distinct words of a query; the rarest are taken.
const MAX_WORDS: usize = 128;

/// Maximum number of unknown words that are treated as typos.
const MAX_GUESSES: usize = 8;

/// An unknown stem of at least this length that is one edit away from a known one is a misspelling of it. A shorter one may
/// well be another word.
const CLEAR_TYPO_LENGTH: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct WordQuery {
    pub words: Vec<QueryWord>,
    /// For each sentence: its known words, as positions in `words`, with their weights.
    pub sentences: Vec<Vec<(usize, f32)>>,
    /// Adjacent words, as numbers of the vocabulary.
    pub pairs: Vec<(u32, u32)>,
}

/// A word of the query that the index knows.
#[derive(Debug)]
pub(crate) struct QueryWord {
    pub number: u32,
    /// Its weight, which grows slowly with repetition.
    pub weight: f32,
    /// Its spelling in the query.
    pub as_written: String,
    /// Whether a tool that has the word shares a stem with the query: the query has the word, or a clear misspelling of
    /// it. Other guesses only change the order of tools that share a stem.
    pub is_certain: bool,
}

impl WordQuery {
    pub(crate) fn new(text: &str, analyzer: &mut WordAnalyzer, vocabulary: &Vocabulary) -> Self {
        let mut builder = QueryBuilder::default();
        for (sentence, text) in sentences(cut(text)).enumerate() {
            let mut before = None;
            analyzer.each(text, |stem, at| {
                let as_written = &text[at];
                before = match vocabulary.number(stem) {
                    Some(number) => {
                        builder.add(number, 1.0, as_written, sentence, true);
                        if let Some(before) = before {
                            builder.pair(before, number);
                        }
                        Some(number)
                    }
                    None => {
                        builder.guess(stem, as_written, sentence, vocabulary);
                        None
                    }
                };
            });
        }
        builder.finish(vocabulary)
    }
}

/// A word with its occurrences so far.
struct ParsedWord {
    count: f32,
    as_written: String,
    is_certain: bool,
    /// The sentences that contain the word, each with its count.
    sentences: Vec<(usize, f32)>,
}

#[derive(Default)]
struct QueryBuilder {
    /// By number of the vocabulary.
    words: HashMap<u32, ParsedWord>,
    pairs: Vec<(u32, u32)>,
    guesses: usize,
}

impl QueryBuilder {
    fn add(&mut self, number: u32, weight: f32, as_written: &str, sentence: usize, is_certain: bool) {
        let new =
            || ParsedWord { count: 0.0, as_written: as_written.to_owned(), is_certain: false, sentences: Vec::new() };
        let parsed = self.words.entry(number).or_insert_with(new);
        parsed.count += weight;
        parsed.is_certain |= is_certain;
        match parsed.sentences.last_mut() {
            Some((last, sum)) if *last == sentence => *sum += weight,
            _ => parsed.sentences.push((sentence, weight)),
        }
    }

    fn pair(&mut self, first: u32, second: u32) {
        if self.pairs.len() < 4 * MAX_WORDS && !self.pairs.contains(&(first, second)) {
            self.pairs.push((first, second));
        }
    }

    fn guess(&mut self, stem: &str, as_written: &str, sentence: usize, vocabulary: &Vocabulary) {
        if self.guesses == MAX_GUESSES {
            return;
        }
        self.guesses += 1;
        let near = vocabulary.nearest(stem);
        for number in &near {
            // `finish` raises the sum to this exponent, so the inverse is applied here.
            let share = TYPO_WEIGHT.powf(1.0 / QUERY_REPEAT_EXPONENT) / near.len() as f32;
            let is_certain =
                stem.chars().count() >= CLEAR_TYPO_LENGTH && osa_distance(stem, vocabulary.word(*number)) == 1;
            self.add(*number, share, as_written, sentence, is_certain);
        }
    }

    fn finish(self, vocabulary: &Vocabulary) -> WordQuery {
        let mut words: Vec<_> = self.words.into_iter().collect();
        words.sort_by(|(first, _), (second, _)| {
            vocabulary.rarity(*second).total_cmp(&vocabulary.rarity(*first)).then(first.cmp(second))
        });
        words.truncate(MAX_WORDS);
        let mut query = WordQuery { pairs: self.pairs, ..WordQuery::default() };
        let mut sentences: HashMap<usize, Vec<(usize, f32)>> = HashMap::new();
        for (position, (number, parsed)) in words.into_iter().enumerate() {
            query.words.push(QueryWord {
                number,
                weight: parsed.count.powf(QUERY_REPEAT_EXPONENT),
                as_written: parsed.as_written,
                is_certain: parsed.is_certain,
            });
            for (sentence, sum) in parsed.sentences {
                sentences.entry(sentence).or_default().push((position, sum.powf(QUERY_REPEAT_EXPONENT)));
            }
        }
        query.sentences = sentences.into_values().collect();
        query
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}
