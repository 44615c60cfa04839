//! A query as the words that the index knows. It is text, never syntax.

use std::collections::HashMap;

use super::index::Vocabulary;
use super::weights::{MISSPELT, QUERY_REPEATS};
use super::words::{Words, sentences};

/// Longer queries are read so far: no wish needs more.
const MOST_TEXT: usize = 16 << 10;

/// So many words of a query count, the rarest first.
const MOST_WORDS: usize = 128;

/// So many unknown words are taken for misspelt ones.
const MOST_MISSPELT: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Query {
    pub words: Vec<Wanted>,
    /// For each sentence with known words: which, as positions in `words`, and what each counts.
    pub sentences: Vec<Vec<(usize, f32)>>,
    /// Neighbours, as numbers of the vocabulary.
    pub pairs: Vec<(u32, u32)>,
}

/// A word that the index knows.
#[derive(Debug)]
pub(super) struct Wanted {
    pub number: u32,
    /// What it counts for being said, and said again.
    pub weight: f32,
    /// As it stands in the query.
    pub said: String,
}

impl Query {
    pub(super) fn new(text: &str, words: &mut Words, vocabulary: &Vocabulary) -> Self {
        let mut reading = Reading::default();
        for (sentence, text) in sentences(cut(text)).enumerate() {
            let mut before = None;
            words.each(text, |stem, at| {
                let said = &text[at];
                before = match vocabulary.number(stem) {
                    Some(number) => {
                        reading.add(number, 1.0, said, sentence);
                        if let Some(before) = before {
                            reading.pair(before, number);
                        }
                        Some(number)
                    }
                    None => {
                        reading.guess(stem, said, sentence, vocabulary);
                        None
                    }
                };
            });
        }
        reading.finish(vocabulary)
    }
}

/// A word as it was read so far.
struct Read {
    often: f32,
    said: String,
    /// How often in each sentence.
    sentences: Vec<(usize, f32)>,
}

#[derive(Default)]
struct Reading {
    /// By number.
    words: HashMap<u32, Read>,
    pairs: Vec<(u32, u32)>,
    guesses: usize,
}

impl Reading {
    fn add(&mut self, number: u32, weight: f32, said: &str, sentence: usize) {
        let new = || Read { often: 0.0, said: said.to_owned(), sentences: Vec::new() };
        let read = self.words.entry(number).or_insert_with(new);
        read.often += weight;
        match read.sentences.last_mut() {
            Some((last, sum)) if *last == sentence => *sum += weight,
            _ => read.sentences.push((sentence, weight)),
        }
    }

    fn pair(&mut self, first: u32, second: u32) {
        if self.pairs.len() < 4 * MOST_WORDS && !self.pairs.contains(&(first, second)) {
            self.pairs.push((first, second));
        }
    }

    fn guess(&mut self, stem: &str, said: &str, sentence: usize, vocabulary: &Vocabulary) {
        if self.guesses == MOST_MISSPELT {
            return;
        }
        self.guesses += 1;
        let near = vocabulary.near(stem);
        for number in &near {
            // Repeats count by a power, so that one word's share is given before it.
            let share = MISSPELT.powf(1.0 / QUERY_REPEATS) / near.len() as f32;
            self.add(*number, share, said, sentence);
        }
    }

    fn finish(self, vocabulary: &Vocabulary) -> Query {
        let mut words: Vec<_> = self.words.into_iter().collect();
        words.sort_by(|(first, _), (second, _)| {
            vocabulary.rarity(*second).total_cmp(&vocabulary.rarity(*first)).then(first.cmp(second))
        });
        words.truncate(MOST_WORDS);
        let mut query = Query { pairs: self.pairs, ..Query::default() };
        let mut sentences: HashMap<usize, Vec<(usize, f32)>> = HashMap::new();
        for (position, (number, read)) in words.into_iter().enumerate() {
            query.words.push(Wanted { number, weight: read.often.powf(QUERY_REPEATS), said: read.said });
            for (sentence, sum) in read.sentences {
                sentences.entry(sentence).or_default().push((position, sum.powf(QUERY_REPEATS)));
            }
        }
        query.sentences = sentences.into_values().collect();
        query
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT)]
}
