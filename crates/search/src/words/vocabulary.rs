//! The vocabulary of an index: every word with its number and its rarity.

use std::collections::HashMap;
use std::sync::Arc;

use super::analyzed_tool::AnalyzedTool;
use super::typos::TypoIndex;

/// All words of an index.
pub(crate) struct Vocabulary {
    numbers: HashMap<Arc<str>, u32>,
    words: Vec<Arc<str>>,
    rarity: Vec<f32>,
    typos: TypoIndex,
}

impl Vocabulary {
    pub(crate) fn new(tools: &[Arc<AnalyzedTool>]) -> Self {
        let mut numbers: HashMap<Arc<str>, u32> = HashMap::new();
        let mut words: Vec<Arc<str>> = Vec::new();
        let mut counts: Vec<u32> = Vec::new();
        for (word, _) in tools.iter().flat_map(|tool| &tool.words) {
            let next = u32::try_from(words.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(word.clone()).or_insert(next);
            if number == next {
                words.push(word.clone());
                counts.push(0);
            }
            counts[number as usize] += 1;
        }
        let all = tools.len() as f32;
        let rarity = counts.iter().map(|count| *count as f32);
        let rarity = rarity.map(|count| (1.0 + (all - count + 0.5) / (count + 0.5)).ln()).collect();
        let typos = TypoIndex::new(words.iter().map(Arc::as_ref));
        Vocabulary { numbers, words, rarity, typos }
    }

    /// The number of a word; `None` if no tool has it.
    pub(crate) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    pub(crate) fn word(&self, number: u32) -> &str {
        &self.words[number as usize]
    }

    /// The inverse document frequency of a word: the fewer tools have it, the higher.
    pub(crate) fn rarity(&self, number: u32) -> f32 {
        self.rarity[number as usize]
    }

    /// The words that a misspelt word may stand for.
    pub(crate) fn nearest(&self, word: &str) -> Vec<u32> {
        self.typos.nearest(word, |number| &self.words[number as usize])
    }
}
