//! An indexed tool: the weights of its words, for exact scoring.

use std::sync::Arc;

use super::analyzed_tool::AnalyzedTool;
use super::vocabulary::Vocabulary;
use crate::weights::{LENGTH_NORM, PART_COUNT, PART_WEIGHTS};

/// A tool with its words as numbers of the vocabulary.
pub(crate) struct IndexedTool {
    /// The number of the server within the index.
    pub server: u32,
    /// Word numbers with their weights, in the order of the numbers.
    words: Vec<(u32, f32)>,
    /// Adjacent words with their weights, sorted.
    pairs: Vec<((u32, u32), f32)>,
    pub name: Vec<u32>,
    /// Sum of the rarity of all words of the name.
    pub name_mass: f32,
}

impl IndexedTool {
    pub(crate) fn new(
        server: u32,
        tool: &AnalyzedTool,
        mean_lengths: &[f32; PART_COUNT],
        vocabulary: &Vocabulary,
    ) -> Self {
        let numbers: Vec<u32> = tool.words.iter().filter_map(|(word, _)| vocabulary.number(word)).collect();
        let mut norms = [0.0; PART_COUNT];
        for part in 0..PART_COUNT {
            norms[part] = PART_WEIGHTS[part].1
                / (1.0 - LENGTH_NORM + LENGTH_NORM * tool.lengths[part] as f32 / mean_lengths[part].max(f32::EPSILON));
        }
        let weight =
            |counts: &[u16; PART_COUNT]| counts.iter().zip(norms).map(|(count, norm)| f32::from(*count) * norm).sum();
        let mut words: Vec<(u32, f32)> =
            numbers.iter().zip(&tool.words).map(|(number, (_, counts))| (*number, weight(counts))).collect();
        words.sort_by_key(|(number, _)| *number);
        let at = |position: u32| numbers[position as usize];
        let mut pairs: Vec<_> = tool.pairs.iter().map(|((one, two), weight)| ((at(*one), at(*two)), *weight)).collect();
        pairs.sort_by_key(|(pair, _)| *pair);
        let name: Vec<u32> = tool.name.iter().map(|position| at(*position)).collect();
        let name_mass = name.iter().map(|number| vocabulary.rarity(*number)).sum();
        IndexedTool { server, words, pairs, name, name_mass }
    }

    /// The weight of a word in this tool; 0 if the tool does not contain it.
    pub(crate) fn weight(&self, number: u32) -> f32 {
        self.words.binary_search_by_key(&number, |(known, _)| *known).map_or(0.0, |at| self.words[at].1)
    }

    /// The weight of two adjacent words; 0 if they are not adjacent in this tool.
    pub(crate) fn pair(&self, pair: (u32, u32)) -> f32 {
        self.pairs.binary_search_by_key(&pair, |(known, _)| *known).map_or(0.0, |at| self.pairs[at].1)
    }
}

/// The mean length of each part over all tools.
pub(crate) fn mean_lengths(tools: &[Arc<AnalyzedTool>]) -> [f32; PART_COUNT] {
    let mut means = [0.0; PART_COUNT];
    for tool in tools {
        for (mean, length) in means.iter_mut().zip(tool.lengths) {
            *mean += length as f32 / tools.len() as f32;
        }
    }
    means
}
